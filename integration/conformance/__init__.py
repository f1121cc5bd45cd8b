"""Case files of Paimon, Fluss and Doris semantics, run through real Spark tables.

`python -m integration.conformance FILE…`. A file holds one JSON object a line: a table, its
commits, and what a reader must then see. One module a dialect reads its form into a `Case`; all
that follows knows cases only.
"""
