"""The words of DESCRIBE FUNCTION for the scalar functions over bitmaps, sketches and quantile
states, which the JVM computes. docs/states.md is held to them.
"""

from keyfold.bridge.frames import Frame
from keyfold.questions.serve import Questions

QUESTIONS = Questions()
_NULL, _EMPTY = "NULL", "an empty bitmap"
_TWO, _MANY, _PART = "(bitmap, bitmap)", "(bitmap, bitmap, …)", "(bitmap, BIGINT, BIGINT)"


@QUESTIONS.look
def describe_function(question: Frame) -> list[str]:
    """The lines of DESCRIBE FUNCTION for a function, by the first of its names."""
    call, result, nulls, summary, *aliases = _ALL[question["name"]]
    return [
        f"Usage: {question['name']}{call} -> {result}",
        "Kind: scalar",
        f"Gives: {summary}",
        f"NULL: {nulls}",
        f"Names: {', '.join((question['name'], *aliases))}",
    ]


def _of_bitmaps(
    name: str, which: str, nulls: str, count: str, *aliases: str
) -> dict[str, tuple[str, ...]]:
    """An operation over bitmaps, and how many numbers its result has."""
    return {
        name: (_MANY, "bitmap", nulls, f"the numbers {which}", *aliases),
        f"{name}_count": (_MANY, "BIGINT", count, f"how many numbers are {which}"),
    }


# Arguments, result, what a NULL is, what the function gives, aliases.
_ALL: dict[str, tuple[str, ...]] = {
    **_of_bitmaps("bitmap_and", "in all bitmaps", _NULL, "0", "rb_and"),
    **_of_bitmaps("bitmap_or", "in any bitmap", "skipped; NULL where all are", "skipped", "rb_or"),
    **_of_bitmaps("bitmap_xor", "in an odd number of the bitmaps", _NULL, "0", "rb_xor"),
    **_of_bitmaps(
        "bitmap_and_not",
        "in the first bitmap and none of the others",
        _NULL,
        "0",
        "bitmap_not",
        "rb_andnot",
    ),
    "bitmap_has_any": (_TWO, "BOOLEAN", _NULL, "whether two bitmaps share a number"),
    "bitmap_has_all": (
        _TWO,
        "BOOLEAN",
        _NULL,
        "whether the first bitmap holds every number of the second",
    ),
    "to_bitmap": (
        "(whole number or STRING)",
        "bitmap",
        _EMPTY,
        "the bitmap of one number from 0 to 2^64-1; an empty bitmap for any other number or text",
    ),
    "to_bitmap64": (
        "(whole number or STRING)",
        "bitmap",
        _EMPTY,
        "the bitmap of one number from 0 to 2^64-1, in 64-bit form; an empty bitmap for any other "
        "number or text",
    ),
    "bitmap_empty": ("()", "bitmap", "-", "the empty bitmap"),
    "bitmap_from_string": (
        "(STRING)",
        "bitmap",
        _NULL,
        "the bitmap of numbers between commas; NULL where one is no number from 0 to 2^64-1",
    ),
    "bitmap_from_array": (
        "(ARRAY<whole number>)",
        "bitmap",
        _NULL,
        "the bitmap of an array's numbers; NULL where one is NULL or not from 0 to 2^64-1",
    ),
    "rb_build": (
        "(ARRAY<whole number>)",
        "bitmap",
        "NULL; NULL elements are skipped",
        "the bitmap of an array's numbers; NULL where one is not from 0 to 2^64-1",
    ),
    "bitmap_hash": (
        "(STRING)",
        "bitmap",
        _EMPTY,
        "the bitmap of a text's 32-bit MurmurHash3; two texts can have one hash",
    ),
    "bitmap_hash64": (
        "(STRING)",
        "bitmap",
        _EMPTY,
        "the bitmap of a text's 64-bit MurmurHash3",
    ),
    "bitmap_count": (
        "(bitmap)",
        "BIGINT",
        "0",
        "how many numbers a bitmap holds",
        "rb_cardinality",
    ),
    "bitmap_min": (
        "(bitmap)",
        "BIGINT",
        _NULL,
        "a bitmap's least number; NULL of an empty one, an error where it exceeds BIGINT",
    ),
    "bitmap_max": (
        "(bitmap)",
        "BIGINT",
        _NULL,
        "a bitmap's greatest number; NULL of an empty one, an error where it exceeds BIGINT",
    ),
    "bitmap_to_string": (
        "(bitmap)",
        "STRING",
        _NULL,
        "a bitmap's numbers, ascending, between commas; '' of an empty one",
    ),
    "bitmap_to_array": (
        "(bitmap)",
        "ARRAY<BIGINT>",
        _NULL,
        "a bitmap's numbers, ascending; an error where one exceeds BIGINT",
        "rb_to_array",
    ),
    "bitmap_contains": (
        "(bitmap, whole number)",
        "BOOLEAN",
        _NULL,
        "whether a bitmap holds a number",
        "rb_contains",
    ),
    "bitmap_subset_in_range": (
        _PART,
        "bitmap",
        _NULL,
        "the numbers from the first, inclusive, to the second, exclusive; NULL unless "
        "0 <= first < second",
    ),
    "bitmap_subset_limit": (
        _PART,
        "bitmap",
        _NULL,
        "as many numbers as the third argument says, from the second on; NULL if one is negative",
    ),
    "sub_bitmap": (
        _PART,
        "bitmap",
        _NULL,
        "as many numbers as the third argument says, from the place of the second, which counts "
        "from 0, or back from the end where negative; NULL where there are none",
    ),
    "hll_hash": (
        "(whole number, STRING or BINARY)",
        "HLL",
        "an empty HLL",
        "the HLL sketch of one value; Spark's hll_sketch_estimate and hll_union read it",
    ),
    "hll_empty": ("()", "HLL", "-", "the HLL sketch of nothing"),
    "hll_cardinality": (
        "(HLL)",
        "BIGINT",
        "0",
        "about how many different values a sketch has seen, within 2 %",
    ),
    "to_quantile_state": (
        "(DOUBLE[, compression])",
        "quantile state",
        "an empty state",
        "the state of one number; compression from 2048 (also for any other) to 10000 is the "
        "t-digest's",
        "percentile_hash",
    ),
    "quantile_state_empty": (
        "()",
        "quantile state",
        "-",
        "the state of no number",
        "percentile_empty",
    ),
    "quantile_percent": (
        "(quantile state, DOUBLE)",
        "DOUBLE",
        _NULL,
        "the number below which that part, 0 to 1, of the numbers lies: exact and linear between "
        "two up to 2048 numbers, then by t-digest; NaN of an empty state",
        "percentile_approx_raw",
    ),
}
