"""What stands in the way of a proof is said at once, by `sluice prove` and by `sluice check`."""

from __future__ import annotations

import re
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from sluice.errors import SpecError
from sluice.proof.eligibility import covered_outputs, refuse_ineligible, weekly_proofs_can_be_made
from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.load import load_catalog, scan
from sluice.specs.model.lanes import Lane
from sluice.specs.model.model import PipelineSpec, TopicSpec
from sluice.specs.model.outputs import DeadLettersOutput, SinkOutput
from sluice.specs.model.sources import TableSource
from sluice.specs.rules.rules import RULES

SINK = SinkOutput(kind="sink", name="crm", function="crm:write")
LETTERS = DeadLettersOutput(kind="dead_letters", topic="flights_dead")


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(settings().home / "include")


@pytest.fixture
def spec(catalog: Catalog) -> PipelineSpec:
    return catalog.pipelines["departures"]


def topic(fields: dict[str, Any], **value: object) -> TopicSpec:
    own = {"event_time": "at", "arrival_time": "at", "event_id": ["at"], "fields": fields, **value}
    raw = {"table": "flights_raw", "driver": "flights"}
    return TopicSpec.model_validate({"name": "flights", "partitions": 1, "value": own, "raw": raw})


def test_a_sound_pipeline_is_taken_with_its_outputs(catalog: Catalog, spec: PipelineSpec) -> None:
    refuse_ineligible(spec, catalog.topics)
    assert covered_outputs(spec.model_copy(update={"outputs": (*spec.outputs, SINK)})) == spec.outputs


def test_a_pipeline_without_an_output_that_can_be_read_is_refused(catalog: Catalog, spec: PipelineSpec) -> None:
    blind = spec.model_copy(update={"outputs": (SINK, LETTERS)})
    with pytest.raises(SpecError, match="departures has no output that a proof can read"):
        refuse_ineligible(blind, catalog.topics)


def test_all_that_stands_in_the_way_is_said_at_once(spec: PipelineSpec) -> None:
    ((_, source),) = spec.topic_sources.items()
    table = TableSource(table="hours")
    more = {"source": None, "sources": {"flights": source, "hours": table}, "lane": Lane.REALTIME}
    at = {"type": "timestamp", "required": True}
    none = topic({"at": at, "state": {"type": "string", "required": True, "one_of": []}})
    with pytest.raises(SpecError) as refused:
        refuse_ineligible(spec.model_copy(update={**more, "outputs": (SINK,)}), {"flights": none})
    for reason in (
        r"departures reads what other pipelines settle \(hours\)",
        "in the lane realtime",
        "has no output that a proof can read",
        "the field state of flights has no text that is allowed",
    ):
        assert re.search(reason, refused.value.message), reason
    assert "prove the pipelines that settle these tables." in refused.value.fix
    assert "prove it in the lane `latency`" in refused.value.fix


def test_several_topics_of_any_format_are_taken(spec: PipelineSpec) -> None:
    at = {"type": "timestamp", "required": True}
    ((_, source),) = spec.topic_sources.items()
    sources = {name: source.model_copy(update={"topic": name}) for name in ("flights", "lines")}
    both = spec.model_copy(update={"source": None, "sources": sources})
    nested = {"at": at, "parts": {"type": "array", "items": {"type": "decimal", "precision": 9}, "required": True}}
    lines = topic({"at": at}, format="csv", columns=["at"])
    refuse_ineligible(both, {"flights": topic(nested), "lines": lines})


def test_what_would_always_be_late_is_refused(spec: PipelineSpec) -> None:
    ((_, source),) = spec.topic_sources.items()
    at = {"type": "timestamp", "required": True, "format": "yyyy-MM-dd HH:mm", "zone": "UTC"}
    by_broker = topic({"at": at, "id": {"type": "long", "required": True}}, arrival_time="broker", event_id=["id"])
    soon = source.model_copy(
        update={"time": source.time.model_copy(update={"allowed_lateness": timedelta(seconds=30)})}
    )
    quick = spec.model_copy(update={"source": None, "sources": {"flights": soon}})
    with pytest.raises(SpecError, match="records of flights come up to 1 minute after the event time that they say"):
        refuse_ineligible(quick, {"flights": by_broker})
    refuse_ineligible(spec, {"flights": by_broker})


def test_check_refuses_a_weekly_proof_that_no_run_could_make(tmp_path: Path) -> None:
    include, spec = _copied_include(tmp_path), "pipelines/departures.yaml"
    rules = (*RULES, weekly_proofs_can_be_made)
    text = (include / spec).read_text(encoding="utf-8")
    (include / spec).write_text(f"{text}prove: weekly\n", encoding="utf-8")
    assert not scan(include, rules=rules).faults
    flights = include / "topics" / "flights.yaml"
    listed = "  fields:\n    parts: {type: long, minimum: 0.2, maximum: 0.8, required: true}\n"
    flights.write_text(flights.read_text(encoding="utf-8").replace("  fields:\n", listed, 1), encoding="utf-8")
    (fault,) = (each for each in scan(include, rules=rules).faults if each.where == "prove")
    assert fault.line == len(text.splitlines()) + 1
    assert fault.message == "the field parts of flights has no number that is allowed."
    assert fault.fix.endswith("Or remove `prove`.")
    (include / spec).write_text(text, encoding="utf-8")
    assert not [each for each in scan(include, rules=rules).faults if each.where == "prove"], "it asks for none"


def _copied_include(folder: Path) -> Path:
    home = settings().home
    for part in ("include", "spark_jobs"):
        shutil.copytree(home / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "sluice", "jars"))
    return folder / "include"
