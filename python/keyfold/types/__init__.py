"""Column types and values: their spelling in Paimon, Spark and Arrow, and conversions."""
