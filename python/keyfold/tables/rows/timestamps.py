"""Points in time that a program names."""

from datetime import datetime

from keyfold.errors import TableError


def millis_of(what: str, moment: object) -> int:
    """The ms since 1970 of a time with a zone, or of its ISO text. Raises TableError, which begins
    with `what`, if it is something else; a time without a zone may be meant in any.
    """
    found = moment
    if isinstance(moment, str):
        try:  # Python 3.10 does not know Z
            found = datetime.fromisoformat(moment.strip().replace("Z", "+00:00"))
        except ValueError:
            found = None
    try:
        if isinstance(found, datetime) and found.tzinfo is not None:
            return int(found.timestamp() * 1000)
    except OverflowError:  # the zone moves it beyond the first or last year
        pass
    raise TableError(
        f"{what}: expected a datetime with its zone, such as datetime.now(timezone.utc), or ISO "
        f"text with one, such as '2026-11-01T12:00:00+00:00', found {moment!r:.100}"
    )
