"""The copy of a project in which a proof runs: one pipeline, its topics under other names, its code, what it joins."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from sluice.project.project import Project
from sluice.proof.eligibility import is_covered
from sluice.proof.running.connection import copy_connection
from sluice.proof.running.place import ProofPlace
from sluice.proof.running.static_copy import copy_static
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import Output, WrittenTopic

_LEFT_OUT = (
    "alerts",
    "page",
    "mirror_group",
    "schedule",
    "stop_when_idle",
    "start",
    "output",
    "source",
    "time",
    "prove",
)


def copy_project(project: Project, spec: PipelineSpec, place: ProofPlace) -> None:
    """Write the copy: the pipeline with the outputs that are checked, its topics under other names, its code.

    Raises:
        OSError: there is no room.
        SluiceError: a static input cannot be read, see `sluice.static.reading.content_of`.
    """
    home, include = project.settings.home, place.root / "project" / "include"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(home / "spark_jobs", place.root / "project" / "spark_jobs", ignore=ignored)
    for name in ("topics", "pipelines", "deployments"):
        (include / name).mkdir(parents=True)
    for file in (home / "include").iterdir():
        if file.is_file():
            shutil.copy2(file, include / file.name)
    suite = home / "include" / "expectations" / f"{spec.name}.yaml"
    if suite.exists():
        (include / "expectations").mkdir()
        shutil.copy2(suite, include / "expectations" / suite.name)
    for topic, own in place.read.items():
        _write(include / f"topics/{own}.yaml", _topic(home, topic, own, spec.driver))
        contract = home / "include" / "schemas" / topic
        if project.catalog.topics[topic].value.versions:  # of others no record says by which version it is read
            shutil.copytree(contract, include / "schemas" / own)
    static = copy_static(project, spec, include)
    _write(include / f"pipelines/{spec.name}.yaml", _pipeline(home, spec, place, static))
    copy_connection(project, include, place.state)


def _pipeline(home: Path, spec: PipelineSpec, place: ProofPlace, static: Mapping[str, Any]) -> dict[str, Any]:
    document = _read(home / f"include/pipelines/{spec.name}.yaml")
    declared = [document["output"]] if document.get("output") else document["outputs"]
    outputs = [_output(home, *each, place) for each in zip(declared, spec.every_output, strict=True)]
    own = {key: value for key, value in document.items() if key not in _LEFT_OUT}
    kept = [each for each, output in zip(outputs, spec.every_output, strict=True) if is_covered(output)]
    sources = {
        name: {**_rules(document, name), "topic": place.read[source.topic]}
        for name, source in spec.topic_sources.items()
    }
    joined = {"static": dict(static)} if static else {}
    return {**own, "sources": sources, "outputs": kept, **joined}


def _rules(document: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return what is declared of a source, however that is written down."""
    rules: dict[str, Any] = document["sources"][source] if document.get("sources") else {"time": document["time"]}
    return rules


def _output(home: Path, declared: dict[str, Any], output: Output, place: ProofPlace) -> dict[str, Any]:
    """Return an output as the copy declares it: a topic under another name, which it always creates."""
    if not isinstance(output, WrittenTopic):
        return {"kind": output.kind, **declared}
    shape = declared.get("create") or {"partitions": _read(home / f"include/topics/{output.topic}.yaml")["partitions"]}
    return {**declared, "topic": place.filled[output.topic], "create": shape}


def _topic(home: Path, name: str, own_name: str, driver: str) -> dict[str, Any]:
    """Return the topic under another name; its raw table is filled by the driver of the pipeline, all the time."""
    document = _read(home / f"include/topics/{name}.yaml")
    raw = {key: value for key, value in document["raw"].items() if key not in _LEFT_OUT}
    return {**document, "name": own_name, "raw": {**raw, "driver": driver}}


def _read(file: Path) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return document


def _write(file: Path, document: Mapping[str, Any]) -> None:
    file.write_text(yaml.safe_dump(dict(document), sort_keys=False), encoding="utf-8")
