"""Looking up: the rows of given keys, of which a lookup reads only what may hold them."""
