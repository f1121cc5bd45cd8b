"""Tests with Spark, the demo and the bench; run from the top of the checkout."""

from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
QUIET = TOP / "integration" / "quiet.properties"  # log4j: warnings of keyfold, errors of others
