"""The columns that entries of manifests become, by the paths of their fields, and their places."""

NUMBERS = (
    "_KIND",
    "_BUCKET",
    "_TOTAL_BUCKETS",
    "_FILE._LEVEL",
    "_FILE._FILE_SIZE",
    "_FILE._ROW_COUNT",
    "_FILE._MIN_SEQUENCE_NUMBER",
    "_FILE._MAX_SEQUENCE_NUMBER",
    "_FILE._SCHEMA_ID",
    "_FILE._DELETE_ROW_COUNT",
    "_FILE._FILE_SOURCE",
)
KIND, BUCKET, TOTAL, LEVEL, SIZE, ROWS, FIRST_SEQUENCE, LAST_SEQUENCE = range(8)
SCHEMA, DELETES, SOURCE = range(8, 11)
SPANS = (
    "_PARTITION",
    "_FILE._FILE_NAME",
    "_FILE._MIN_KEY",
    "_FILE._MAX_KEY",
    "_FILE._EXTRA_FILES",
    "_FILE._EMBEDDED_FILE_INDEX",
    "_FILE._EXTERNAL_PATH",
)
PARTITION, NAME, FIRST, LAST, EXTRA, INDEX, ELSEWHERE = range(7)
