"""Objects that travel between the JVM, the driver's Python and its workers."""
