"""DELETE, UPDATE and MERGE from Python: the rules and conflicts are those of the SQL statements, as
the job and its commit are the same.
"""
