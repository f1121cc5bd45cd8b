"""Catalogs of namespaces and tables: below a warehouse folder, at a path, on a REST server."""
