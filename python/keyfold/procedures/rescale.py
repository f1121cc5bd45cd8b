"""rescale: another number of buckets."""

from keyfold.compact.rescaling import rescaled
from keyfold.errors import TableError
from keyfold.procedures.compact import REWRITTEN
from keyfold.procedures.declare import Procedure, ProcedureCall, ProcedureParameter, Rows


def _rescale(call: ProcedureCall, buckets: int | None, bucket_num: int | None) -> Rows:
    number = bucket_num if buckets is None else buckets
    if number is None:
        raise TableError(
            "rescale: buckets is NULL; expected how many buckets "
            f"{call.table.layout.name} is to have"
        )
    return [rescaled(call.caller, call.newest, number)]


RESCALE = Procedure(
    "rescale",
    "gives a table another number of buckets",
    (
        ProcedureParameter("buckets", "INT", "how many"),
        ProcedureParameter("bucket_num", "INT", "the same, by Paimon's name"),
    ),
    {
        "buckets_before": "INT",
        "buckets_after": "INT",
        **REWRITTEN,
    },
    _rescale,
    "Gives the table another number of buckets ([number of buckets](sql.md#number-of-buckets)). "
    "`bucket_num` is the same as `buckets`.",
    again=True,
)
