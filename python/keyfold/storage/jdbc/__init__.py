"""The database of a JDBC catalog: its address, connections, and the locks that it keeps."""
