"""Questions of `CALL <catalog>.sys.<name>(…)` (driver side): the procedures, and a call of one."""

from functools import partial
from typing import Any

import pyarrow as pa

from keyfold.bridge.frames import Frame
from keyfold.procedures import procedures
from keyfold.procedures.declare import CONDITION, CatalogCall, Procedure, ProcedureCall
from keyfold.questions.catalog import catalog_of
from keyfold.questions.serve import CODE, Questions, Talk
from keyfold.questions.spark import Spark
from keyfold.storage.table import open_handle, open_newest
from keyfold.wire.codec import batch_to_text
from keyfold.wire.predicates import decoded
from keyfold.write.jobs import epoch_of

QUESTIONS = Questions()


@QUESTIONS.look
def list_procedures(question: Frame) -> list[dict[str, Any]]:
    """The procedures: parameters and result columns of each."""
    return [procedure.to_json() for procedure in procedures().values()]


@QUESTIONS.talk
def call_procedure(question: Frame, talk: Talk) -> str:
    """Do what question["procedure"] does, with question["arguments"]. Returns its rows, as the text
    of a batch of Arrow.
    """
    procedure = procedures()[question["procedure"]]
    arguments = dict(question["arguments"])
    for parameter in procedure.parameters:
        given = arguments.get(parameter.name)
        if parameter.type == CONDITION and isinstance(given, list):
            arguments[parameter.name] = decoded(given)
    rows = procedure.rows(_call(procedure, question, Spark(question, talk)), arguments)
    return batch_to_text(pa.RecordBatch.from_pylist(rows, schema=procedure.schema))


def _call(procedure: Procedure, question: Frame, caller: Spark) -> ProcedureCall | CatalogCall:
    if procedure.of_catalog:
        return CatalogCall(catalog_of(question), caller)
    handle, options = question["table"], question["catalog"]["options"]
    table, newest = open_handle(handle, options), partial(open_newest, handle, options)
    token = (question.get(CODE) or {}).get("writes", {}) if procedure.takes_token else {}
    return ProcedureCall(table, newest, caller, epoch_of(table.layout.name, token, None))
