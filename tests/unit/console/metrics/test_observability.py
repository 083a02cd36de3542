"""The catalogue, and what is built upon it: rules, dashboard, runbook and reference name nothing that there is not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from sluice.console.metrics.catalogue import CATALOGUE, MetricType
from sluice.settings import PACKAGE
from sluice.streams.health.health import FINE, Health
from tests.unit.console.metrics.exporters import BEANS, EXPORTED, JMX, exposed

HOME = Path(__file__).parents[4]
OBSERVABILITY = PACKAGE / "observability"
GROUPS: list[dict[str, Any]] = yaml.safe_load((OBSERVABILITY / "rules.yaml").read_text())["groups"]
RULES: list[dict[str, Any]] = [rule for group in GROUPS for rule in group["rules"]]
DASHBOARD: dict[str, Any] = json.loads((OBSERVABILITY / "grafana.json").read_text())
BY_NAME = {metric.name: metric for metric in CATALOGUE}
LABELS = {**EXPORTED, **{metric.name: metric.labels for metric in CATALOGUE}}


def expressions() -> Iterator[tuple[str, str]]:
    for rule in RULES:
        yield rule["alert"], rule["expr"]
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            yield f"{panel['title']} {target['refId']}", target["expr"]


def parts(node: Any) -> Iterator[Any]:  # noqa: ANN401 - the parser's nodes have no common type
    """Yield a node and all below it."""
    yield node
    for name in ("lhs", "rhs", "expr", "vector_selector", "vs"):
        below = getattr(node, name, None)
        if below is not None:
            yield from parts(below)
    for below in getattr(node, "args", None) or ():
        yield from parts(below)


@pytest.mark.parametrize(("where", "expression"), list(expressions()), ids=[where for where, _ in expressions()])
def test_an_expression_names_metrics_and_labels_that_there_are(where: str, expression: str) -> None:
    tree = promql_parser.parse(expression)
    selectors = [node for node in parts(tree) if isinstance(node, promql_parser.VectorSelector)]
    assert selectors, where
    assert {name for name in LABELS if re.search(rf"\b{name}\b", expression)} == {each.name for each in selectors}
    for selector in selectors:
        assert {matcher.name for matcher in selector.matchers.matchers} <= {*LABELS[selector.name]}, where
        for matcher in selector.matchers.matchers:
            if matcher.name == "health" and str(matcher.op).endswith("Equal"):
                assert matcher.value in {*Health}, where


@pytest.mark.parametrize("where_expression", [e for e in expressions() if "rate(" in e[1] or "increase(" in e[1]])
def test_only_counters_have_a_rate(where_expression: tuple[str, str]) -> None:
    for name in re.findall(r"(?:rate|increase)\((sluice_\w+)", where_expression[1]):
        assert BY_NAME[name].kind is MetricType.COUNTER, where_expression


def test_names_follow_the_conventions_of_prometheus() -> None:
    assert len(BY_NAME) == len(CATALOGUE) > 30
    for metric in CATALOGUE:
        assert re.fullmatch(r"sluice_[a-z][a-z_]*[a-z]", metric.name)
        assert metric.name.endswith("_total") == (metric.kind is MetricType.COUNTER), metric.name
        assert metric.help.endswith("."), metric.name
        assert not {*metric.labels} & {"generation", "batch", "run_id", "le", "quantile"}, metric.name
        assert not re.search(r"_(ms|millis|minutes|hours|kb|mb|percent)(_|$)", metric.name), metric.name


def test_every_rule_has_a_section_in_the_runbook_and_every_verdict_too() -> None:
    headings = re.findall(r"^## (.+)$", (HOME / "docs" / "runbook.md").read_text(), re.MULTILINE)
    anchors = {heading.lower().replace(" ", "-") for heading in headings}
    assert {rule["annotations"]["runbook"].partition("#")[2] for rule in RULES} <= anchors
    assert {health.value.lower() for health in Health} <= anchors
    ruled = set(re.findall(r'health="(\w+)"', " ".join(rule["expr"] for rule in RULES)))
    assert ruled == {health.value for health in Health} - FINE, "a verdict that needs somebody calls nobody"


def test_every_rule_says_how_bad_it_is_and_names_only_labels_that_there_are() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule["labels"]["severity"] in {"warning", "critical"}
        known = {label for name in LABELS if re.search(rf"\b{name}\b", rule["expr"]) for label in LABELS[name]}
        assert set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])) <= known, rule["alert"]


@pytest.mark.parametrize("bean", BEANS)
def test_a_bean_of_the_broker_is_asked_for_and_named_by_a_rule(bean: str) -> None:
    assert exposed(bean) is not None
    domain, properties = re.fullmatch(r"([\w.]+)<(.*)><>\w+", bean).groups()  # type: ignore[union-attr]
    known = dict(part.split("=") for part in properties.split(", "))
    wanted = [pattern.partition(":") for pattern in JMX["includeObjectNames"]]
    assert any(
        domain == of and all(part == "*" or _holds(known, part) for part in parts.split(",")) for of, _, parts in wanted
    )


def _holds(known: dict[str, str], part: str) -> bool:
    name, _, value = part.partition("=")
    return name in known and value in ("*", known[name])


def test_a_counter_of_the_broker_is_called_one() -> None:
    made = [found for bean in BEANS if (found := exposed(bean)) is not None]
    assert len({each.name for each in made}) == len(BEANS)
    assert all(each.name.endswith("_total") == (each.kind == "COUNTER") for each in made)
    assert exposed("kafka.network<type=RequestMetrics, name=RequestsPerSec><>Count") is None


def test_whatever_others_expose_is_used_or_explained() -> None:
    written = " ".join(rule["expr"] for rule in RULES) + (HOME / "docs" / "runbook.md").read_text()
    written += (HOME / "docs" / "metrics.md").read_text()
    assert [name for name in EXPORTED if not re.search(rf"\b{name}\b", written)] == []


def test_panels_do_not_lie_upon_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not taken & cells, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
