"""The page of the DAGs: what Airflow shows of each, from the DAGs that the sample project's specs give."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG

from generate.markdown import code, table
from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.catalog.dag_ids import backfill_dag_id, quality_dag_id, stream_dag_id
from sluice.specs.load import load_catalog

_HEAD = """# The DAGs, one by one

Made by `make references` from the DAGs that the specs of this repository give: {names} are
names of theirs. How the DAGs work together is described in [the DAGs](../dags.md). No run catches up on what it
missed. A task is tried again three times, except where it says so.
"""
_RETRIES = 3
_POOL = "default_pool"


def dags_page(folder: Path, catalog: Catalog) -> str:
    """Return the page.

    Args:
        folder: the DAG files.
        catalog: the specs that they read.
    """
    patterns = _patterns(catalog)
    dags: Mapping[str, DAG] = DagBag(str(folder)).dags
    sections = [part for dag_id in sorted(dags) for part in _section(patterns.get(dag_id, dag_id), dags[dag_id])]
    names = " and ".join(map(code, sorted({*catalog.units(), *catalog.pipelines})))
    return "\n".join([_HEAD.format(names=names), *sections]).rstrip() + "\n"


def _patterns(catalog: Catalog) -> Mapping[str, str]:
    found = {stream_dag_id(unit): stream_dag_id("<unit>") for unit in catalog.units()}
    for of in (backfill_dag_id, quality_dag_id):
        found |= {of(pipeline): of("<pipeline>") for pipeline in catalog.pipelines}
    return found


def _section(name: str, dag: DAG) -> Iterator[str]:
    yield f"## {code(name)}\n"
    yield f"{dag.description}\n"
    facts = {
        "runs": _said(dag.schedule),
        "at once": f"at most {dag.max_active_runs} run{'' if dag.max_active_runs == 1 else 's'}",
        "file": code(f"dags/{Path(dag.fileloc).name}"),
        "tags": ", ".join(map(code, sorted(dag.tags))),
        "owner": dag.owner,
    }
    yield table(("", ""), facts.items()) + "\n"
    if dag.params:
        rows = [_param(parameter, dag) for parameter in dag.params]
        yield "Its form:\n"
        yield table(("field", "what it takes", "default", "meaning"), rows) + "\n"
    yield "Its tasks:\n"
    ordered = dag.topological_sort()  # type: ignore[no-untyped-call]
    yield table(("task", "after", "what it does"), map(_task, ordered)) + "\n"


def _said(schedule: Any) -> str:  # noqa: ANN401 - Airflow has a class for each kind
    if assets := getattr(schedule, "asset_condition", None):
        names = ", ".join(code(asset.uri) for asset in assets.objects)
        return f"{_said(schedule.timetable)}, and after each event of {names}"
    expression = getattr(schedule, "expression", None) or getattr(schedule, "_expression", None)
    if not expression:
        return "when it is triggered"
    before = " for the day before" if getattr(schedule, "_run_offset", 0) else ""
    return f"{code(expression)} (cron, UTC){before}"


def _param(name: str, dag: DAG) -> tuple[str, str, str, str]:
    parameter = dag.params.get_param(name)
    schema = parameter.schema
    default = dag.params[name]
    kinds = schema.get("type", "")
    kind = " or ".join(each for each in ([kinds] if isinstance(kinds, str) else kinds) if each != "null")
    bounds = [
        f"{word} {schema[key]}"
        for key, word in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "more than"),
            ("maximum", "at most"),
            ("maxLength", "at most so many characters:"),
        )
        if key in schema
    ]
    shown = schema.get("values_display", {})
    choices = "; ".join(f"{code(value)}: {shown.get(value, '')}".rstrip(": ") for value in schema.get("enum", ()))
    takes = choices or ", ".join([kind, *bounds])
    meaning = ". ".join(filter(None, [schema.get("title", ""), schema.get("description_md", "")]))
    return code(name), takes, code("" if default is None else str(default)), meaning


def _task(task: Any) -> tuple[str, str, str]:  # noqa: ANN401 - mapped or not
    extra = []
    if task.retries != _RETRIES:
        extra.append("Not tried again." if task.retries == 0 else f"Tried again {task.retries} times.")
    if task.pool != _POOL:
        extra.append(f"In the pool `{task.pool}`.")
    after = ", ".join(code(name) for name in sorted(task.upstream_task_ids))
    return code(task.task_id), after, " ".join([(task.doc_md or "").strip(), *extra])


def main() -> None:
    """Write the page into a file."""
    parser = argparse.ArgumentParser(prog="python -m generate.dags", description="Write the page of the DAGs.")
    parser.add_argument("file", type=Path)
    home = settings().home
    page = dags_page(home / "dags", load_catalog(home / "include"))
    parser.parse_args().file.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
