"""What travels between the JVM, the driver's Python and its workers."""
