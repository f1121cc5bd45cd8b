"""Schema files of a table, and the statements that make them: CREATE TABLE and ALTER TABLE."""
