"""LakeSoul and ClickHouse as readers without Spark of the tables that keyfold merges."""
