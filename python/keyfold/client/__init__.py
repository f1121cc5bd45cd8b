"""Programs of the JVM that write and look up rows without SQL: their questions, which end in the
functions of the Python door, and the process that answers them.
"""
