"""Keys of a job that the table holds already: stored by others, or in files of both."""
