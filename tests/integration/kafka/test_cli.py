"""`sluice topics` and `sluice feed` against a real broker, with the project's own specs in another deployment."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sluice.cli import feed, topics
from sluice.errors import RefusedError, SpecError
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.local.broker import Broker
from sluice.settings import settings
from sluice.topics.administration import TopicCreation

DEPLOYMENT = """\
name: elsewhere
kafka: {{kind: external, bootstrap: ["{bootstrap}"]}}
replication: 1
"""


@pytest.fixture
def name(broker: Broker, topic_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Make a private project whose only topic, raw table apart, has a name of its own; return it."""
    home = settings().home
    for folder in ("include", "spark_jobs"):
        ignored = shutil.ignore_patterns("sluice", "__pycache__")
        shutil.copytree(home / folder, tmp_path / folder, ignore=ignored)
    (tmp_path / "include/deployments/elsewhere.yaml").write_text(DEPLOYMENT.format(bootstrap=broker.bootstrap))
    for path, field in (("topics", "name"), ("feeds", "topic"), ("pipelines", "source")):
        (spec,) = (tmp_path / "include" / path).glob("*.yaml")
        spec.write_text(spec.read_text().replace(f"{field}: flights\n", f"{field}: {topic_name}\n", 1))
    (tmp_path / "include/topics/flights.yaml").rename(tmp_path / f"include/topics/{topic_name}.yaml")
    for key, value in (("HOME", str(tmp_path)), ("STATE", "state"), ("DEPLOYMENT", "elsewhere")):
        monkeypatch.setenv(f"SLUICE_{key}", value)
    settings.cache_clear()
    yield topic_name
    settings.cache_clear()


def run(app: object, *arguments: str) -> str:
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)  # type: ignore[arg-type]
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_plan_is_applied_once_and_then_empty(name: str) -> None:
    (creation,) = json.loads(run(topics.app, "plan", "-o", "json"))["create"]
    assert creation == {"name": name, "partitions": 4, "replication": 1, "configs": {"retention.ms": "-1"}}
    assert json.loads(run(topics.app, "apply", "-o", "json"))["created"] == [name]
    assert json.loads(run(topics.app, "plan", "-o", "json")) == {"create": [], "differences": []}
    assert json.loads(run(topics.app, "apply", "-o", "json"))["created"] == []
    assert run(topics.app, "plan") == "1 topic is as declared; nothing to do.\n"
    described = json.loads(run(topics.app, "describe", "-o", "json"))[name]
    assert (described["partitions"], described["ends"]) == (4, {"0": 0, "1": 0, "2": 0, "3": 0})
    assert name in run(topics.app, "describe")


def test_a_topic_that_differs_is_shown_by_the_plan_and_refused_by_apply(name: str, broker: Broker) -> None:
    with KafkaPythonAdministration([broker.bootstrap]) as administration:
        administration.create([TopicCreation(name, 2, 1, {"retention.ms": "-1"})])
    assert f"! {name}: partitions is 2, declared 4 (apply will refuse)" in run(topics.app, "plan")
    with pytest.raises(RefusedError, match="partitions is 2, declared 4"):
        run(topics.app, "apply")


def test_a_day_is_sent_and_shown_in_the_manifest(name: str) -> None:
    run(topics.app, "apply")
    day = ("--from", "2013-01-01", "--to", "2013-01-01")
    said = run(feed.app, "send", "flights", *day)
    assert said == f"Sent 842 records, and a heartbeat of 2013-01-02 09:00 UTC; {name} now has 842 of this feed.\n"
    assert run(feed.app, "send", "flights", *day) == f"Sent 0 records; {name} now has 842 of this feed.\n"
    manifest = json.loads(run(feed.app, "manifest", "flights", "-o", "json"))
    assert manifest["ranges"][0]["days"] == {"2013-01-01": 842}
    assert "842 records in topic" in run(feed.app, "manifest", "flights")


def test_before_anything_is_sent_the_manifest_says_so(name: str) -> None:
    assert name
    assert run(feed.app, "manifest", "flights") == "Nothing of flights was sent.\n"
    assert run(feed.app, "manifest", "flights", "-o", "json") == "null\n"


def test_an_unknown_feed_is_told_with_those_that_exist(name: str) -> None:
    assert name
    with pytest.raises(SpecError, match=r"no feed 'trains'.*include/feeds has flights"):
        run(feed.app, "manifest", "trains")
