"""The JVM's questions: one file for each family, and the two processes that answer them."""
