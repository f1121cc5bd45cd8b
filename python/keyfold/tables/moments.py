"""Points in time that a program names."""

from datetime import datetime, timezone


def millis_of(moment: datetime) -> int:
    """The ms since 1970; of a time without a zone, those in UTC."""
    zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
    return int(zoned.timestamp() * 1000)
