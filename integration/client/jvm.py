"""A program of the JVM, as py4j lets Python be one: its calls are those of Java, by reflection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timezone
from typing import Any

import pytest
from pyspark.sql import SparkSession

from keyfold import Catalog
from keyfold.errors import KeyfoldError

COUNTS = {"id": "BIGINT", "n": "BIGINT"}
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Program:
    """Calls of the client in the JVM of a session."""

    def __init__(self, spark: SparkSession) -> None:
        assert spark._jvm is not None
        self.spark, self.java = spark, spark._jvm.java
        self.client = spark._jvm.keyfold.client
        self._array = spark.sparkContext._gateway.new_array

    def texts(self, *texts: str) -> Any:
        """Java's String[], which is what variable arguments are."""
        found = self._array(self.java.lang.String, len(texts))
        for place, text in enumerate(texts):
            found[place] = text
        return found

    def create(self, name: str, columns: Mapping[str, str], *key: str, **options: str) -> Any:
        """A table; a function may stand after a type, behind a slash."""
        builder = self.client.KeyfoldTable.builder()
        for column, text in columns.items():
            kind, _, function = text.partition("/")
            folds = [self.client.Functions.of(function)] if function else []
            builder.column(column, kind, *folds)
        for option, value in options.items():
            builder.option(option.replace("_", "-"), value)
        return builder.primaryKey(self.texts(*key)).create(self.spark._jsparkSession, name)

    def open(self, name: str) -> Any:
        """A table that is there."""
        return self.client.KeyfoldTable.open(self.spark._jsparkSession, name)

    def value(self, given: Any) -> Any:
        """A value as a program in Java has it."""
        if isinstance(given, Mapping):
            found = self.java.util.LinkedHashMap()
            for name, inner in given.items():
                found.put(name, self.value(inner))
            return found
        if isinstance(given, list):
            found = self.java.util.ArrayList()
            for inner in given:
                found.add(self.value(inner))
            return found
        if isinstance(given, datetime):
            since = given.replace(tzinfo=timezone.utc) - EPOCH
            nanos = since.microseconds * 1000
            seconds = since.days * 86_400 + since.seconds
            if given.tzinfo is None:
                utc = self.java.time.ZoneOffset.UTC
                return self.java.time.LocalDateTime.ofEpochSecond(seconds, nanos, utc)
            return self.java.time.Instant.ofEpochSecond(seconds, nanos)
        if isinstance(given, date):
            return self.java.time.LocalDate.parse(given.isoformat())
        if isinstance(given, time):
            return self.java.time.LocalTime.parse(given.isoformat())
        return given

    def write(self, table: Any, rows: Sequence[Mapping[str, Any]], *columns: str) -> Any:
        """Rows in one flush; its answer."""
        upsert = table.newUpsert()
        writer = (upsert.partialUpdate(self.texts(*columns)) if columns else upsert).createWriter()
        for row in rows:
            writer.upsert(self.value(row))
        snapshot = writer.flush()
        writer.close()
        return snapshot.getAsLong() if snapshot.isPresent() else None


def rows_of(catalog: Catalog, name: str) -> list[tuple[Any, ...]]:
    """The rows of a table, as the Python door reads them, in order."""
    found = catalog.table(name.removeprefix("keyfold.")).scan().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def refused(call: Callable[[], Any], *words: str) -> str:
    """The kind of the error that a call ends with; its message has all the words."""
    with pytest.raises(KeyfoldError) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
    return str(caught.value.kind)
