"""Which namespaces and tables there are: below a warehouse folder, at a path, on a REST server."""
