"""dbt against a keyfold catalog: examples/dbt, built by dbt-spark in a Python of its own."""
