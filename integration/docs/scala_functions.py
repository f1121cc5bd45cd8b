"""jvm/…/keyfold/spark/functions.scala, made of the declarations of aggregates."""

from __future__ import annotations

import json
import textwrap

from integration import TOP
from integration.docs.python_functions import kind_of
from keyfold.aggregates.binding import short_name
from keyfold.aggregates.declaration import Aggregate, Parameter
from keyfold.group_by.bound import functions

SOURCE = TOP.joinpath("jvm/src/sql/scala/keyfold/spark/functions.scala")
_KINDS = {"bool": "Boolean", "int": "Int", "str": "String"}
_WIDTH = 120
_HEAD = """package keyfold.spark

import org.apache.spark.sql.Column
import org.apache.spark.sql.functions.{call_function, lit}

/** Driver side: keyfold's aggregates as functions of Scala's columns: `listagg(col("t"), "|")`.
  * The session has a catalog of the name `keyfold`. Made of the declarations by
  * `python -m integration.docs.pages`.
  */
package object functions {
  /** An aggregate by its name: one of your own, or of keyfold; with a dot in it, with that of a
    * catalog. Options are in the order of their declaration; null is the default.
    */
  def call(name: String, column: Column, options: Any*): Column = {
    val texts = options.map(option => lit(if (option == null) null else option.toString))
    call_function(if (name.contains('.')) name else s"keyfold.$name", column +: texts: _*)
  }
"""


def rewritten() -> str:
    """The file, with its functions as they are declared now."""
    return _HEAD + "".join(f"\n{_function(one)}" for one in functions()) + "}\n"


def write() -> None:
    """Write it."""
    SOURCE.write_text(rewritten(), encoding="utf-8")


def _function(one: Aggregate) -> str:
    said = f"/** {one.summary[0].upper()}{one.summary[1:]}. NULL: {one.nulls}. */"
    doc = textwrap.fill(said, _WIDTH, initial_indent="  ", subsequent_indent="    * ")
    if "\n" in doc:
        doc = doc.removesuffix(" */") + "\n    */"
    options = "".join(f", {_argument(parameter)}" for parameter in one.parameters)
    passed = "".join(f", {_name(parameter)}" for parameter in one.parameters)
    body = f'call("{one.name}", column{passed})'
    head = f"  def {one.name}(column: Column{options}): Column ="
    if len(f"{head} {body}") <= _WIDTH:
        return f"{doc}\n{head} {body}\n"
    wrapped = textwrap.fill(head, _WIDTH, subsequent_indent=" " * 6)
    return f"{doc}\n{wrapped}\n    {body}\n"


def _argument(parameter: Parameter) -> str:
    kind = _KINDS[kind_of(parameter)]
    if kind == "String":
        return f"{_name(parameter)}: String = {json.dumps(parameter.default)}"
    if parameter.default is None:
        return f"{_name(parameter)}: java.lang.Integer = null"
    return f"{_name(parameter)}: {kind} = {parameter.default}"


def _name(parameter: Parameter) -> str:
    first, *rest = short_name(parameter).split("_")
    return first + "".join(map(str.capitalize, rest))
