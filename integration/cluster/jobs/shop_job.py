"""The shop's job in PySpark: four tables, folded from both halves of the sales.

A driver's program: nothing of it runs on an executor.
"""

from __future__ import annotations

import re
from pathlib import Path

from pyspark.sql import SparkSession

import keyfold

FOLDER = Path(__file__).parent
SCRIPTS = ("views.sql", "tables.sql", "folds.sql", "questions.sql")


def main() -> None:
    """Fold and ask."""
    spark = keyfold.configure(SparkSession.builder.appName("a shop in PySpark")).getOrCreate()
    for script in SCRIPTS:
        for statement in re.split(r";\s*\n", (FOLDER / script).read_text()):
            if statement.strip():
                spark.sql(statement)
    spark.stop()


if __name__ == "__main__":
    main()
