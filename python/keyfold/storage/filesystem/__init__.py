"""Files of a warehouse, wherever they lie: read, listed, published exclusively, folders moved."""
