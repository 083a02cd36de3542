"""A condition in SQL that chooses rows of one output: what it may say of a row."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sluice.specs.code.select import Select
from sluice.specs.code.select_rules import undetermined_in
from sluice.specs.reading.faults import SpecFaults

_QUERY = "SELECT * FROM rows WHERE "


def condition_faults(condition: str) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a condition, and what to do.

    Args:
        condition: the text after WHERE.
    """
    try:
        select = Select.of(f"{_QUERY}{condition}", "the condition")
    except SpecFaults as error:
        for fault in error.faults:
            yield f"the condition {fault.message}", fault.fix or "write what could follow WHERE in Spark."
        return
    clauses = {name for name, value in select.tree.args.items() if value} - {"expressions", "from_", "where"}
    if not isinstance(select.tree, exp.Select) or clauses or len(list(select.tree.find_all(exp.Query))) > 1:
        yield "the condition holds a clause or a query of its own.", "say it of the columns of one row."
    for function in select.tree.find_all(exp.AggFunc, exp.Window):
        yield f"the condition is about more than one row: {function.sql('spark')}.", "compute it in the transform."
    for fault in undetermined_in(select):
        yield fault.message, fault.fix
