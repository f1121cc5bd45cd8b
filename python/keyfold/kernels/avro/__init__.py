"""Avro's records as columns, and what their bytes have in common."""
