"""Tests with Spark, the demo and the bench; run from the top of the checkout."""
