"""The ages of partitions and rows: which of a table are too old, by their values or by the time
they were last written, as Paimon and Fluss have it.

The times of values have no zone. They are compared with the wall clock of this process's zone, as
Paimon does; auto-partitions name a zone.
"""
