"""compact_manifest: the manifests of the newest snapshot are written anew."""

from collections.abc import Mapping

from keyfold.procedures.declare import CALL_OPTIONS, Procedure, ProcedureCall, Rows
from keyfold.read.call_options import with_options
from keyfold.storage.commits import commit


def _compact(call: ProcedureCall, options: Mapping[str, str] | None) -> Rows:
    commit.compact_manifests(with_options(call.newest(), options))
    return [{"result": True}]


COMPACT_MANIFEST = Procedure(
    "compact_manifest",
    "writes the manifests anew, as few as possible",
    (CALL_OPTIONS,),
    {"result": "BOOLEAN"},
    _compact,
    "Writes the manifests anew, as few as possible. Commits do so when there are many.",
)
