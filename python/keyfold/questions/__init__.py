"""Questions that the JVM asks: one file for each family, and the two processes that answer them."""
