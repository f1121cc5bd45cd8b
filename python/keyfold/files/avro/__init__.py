"""Avro files: their blocks and schemas, and the columns of those that hold rows."""
