"""`sluice topics` and `sluice feed` against a real broker, with the project's own specs in another deployment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sluice.cli import feed
from sluice.cli.topics import commands as topics
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.errors import RefusedError, SpecError
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.settings import settings
from sluice.topics.administration import TopicCreation
from tests.editing import copy_project, edit

DEPLOYMENT = """\
name: elsewhere
kafka: {{kind: external, bootstrap: ["{bootstrap}"]}}
replication: 1
"""


@pytest.fixture
def name(broker: BrokerProcess, topic_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make a private project whose only topic, raw table apart, has a name of its own; return it."""
    copy_project(tmp_path)
    (tmp_path / "include/deployments/elsewhere.yaml").write_text(DEPLOYMENT.format(bootstrap=broker.bootstrap))
    for path, field in (("topics", "name"), ("feeds", "topic"), ("pipelines", "source")):
        (spec,) = (tmp_path / "include" / path).glob("*.yaml")
        edit(spec, f"{field}: flights\n", f"{field}: {topic_name}\n")
    (tmp_path / "include/topics/flights.yaml").rename(tmp_path / f"include/topics/{topic_name}.yaml")
    for key, value in (("HOME", str(tmp_path)), ("STATE", "state"), ("DEPLOYMENT", "elsewhere")):
        monkeypatch.setenv(f"SLUICE_{key}", value)
    settings.cache_clear()
    return topic_name


def run(app: object, *arguments: str) -> str:
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)  # type: ignore[arg-type]
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_plan_is_applied_once_and_then_empty(name: str) -> None:
    (creation,) = json.loads(run(topics.app, "plan", "-o", "json"))["items"]
    assert (creation["change"], creation["topic"], creation["risk"]) == ("create", name, "safe")
    assert creation["wanted"] == "4 partitions, replication 1, message.timestamp.after.max.ms=600000, retention.ms=-1"
    assert f"+ {name}: create with {creation['wanted']}\n" in run(topics.app, "plan")
    assert json.loads(run(topics.app, "apply", "-o", "json"))["applied"] == [creation]
    again = json.loads(run(topics.app, "plan", "-o", "json"))
    assert (again["items"], again["refused"], again["kept"]) == ([], [], [])
    assert json.loads(run(topics.app, "apply", "-o", "json"))["applied"] == []
    assert run(topics.app, "plan") == "1 topic is as declared; nothing to do.\n"
    described = json.loads(run(topics.app, "describe", "-o", "json"))[name]
    assert (described["partitions"], described["ends"]) == (4, {"0": 0, "1": 0, "2": 0, "3": 0})
    assert name in run(topics.app, "describe")


def test_a_topic_that_is_named_is_made_and_no_other(name: str, broker: BrokerProcess) -> None:
    mine = f"{name}_mine"
    spec = (settings().home / f"include/topics/{name}.yaml").read_text()
    spec = spec.replace(f"name: {name}", f"name: {mine}", 1).replace("flights_raw", f"{mine}_raw")
    (settings().home / f"include/topics/{mine}.yaml").write_text(spec)
    assert run(topics.app, "plan", mine).endswith(f"To apply it, run `sluice topics apply {mine}`.\n")
    assert run(topics.app, "apply", mine) == f"created {mine}\n1 topic is as declared.\n"
    with KafkaPythonAdministration([broker.bootstrap]) as administration:
        assert set(administration.describe([name, mine])) == {mine}


def test_what_is_not_safe_is_applied_on_the_word_of_whoever_read_the_plan(name: str, broker: BrokerProcess) -> None:
    with KafkaPythonAdministration([broker.bootstrap]) as administration:
        configs = {"retention.ms": "-1", "max.message.bytes": "2000000"}
        administration.create([TopicCreation(name, 2, 1, configs)])
        read = json.loads(run(topics.app, "plan", "-o", "json"))["id"]
        said = run(topics.app, "plan")
        assert f"! {name}: partitions is 2, declared 4 [approval: " in said
        assert f"  {name}: max.message.bytes=2000000 is in no spec, and stays\n" in said
        assert said.endswith(f"Plan {read}. To apply it, run `sluice topics apply --plan {read}`.\n")
        with pytest.raises(RefusedError, match="partitions is 2, declared 4"):
            run(topics.app, "apply")
        assert f"{name}: partitions is now 4\n" in run(topics.app, "apply", "--plan", read)
        there = administration.describe([name])[name]
        assert (there.partitions, there.configs) == (4, {**configs, "message.timestamp.after.max.ms": "600000"})


def test_records_go_only_where_the_topic_is_named(name: str, broker: BrokerProcess) -> None:
    with KafkaPythonAdministration([broker.bootstrap]) as administration:
        administration.create([TopicCreation(name, 4, 1, {"retention.ms": "-1"})])
    edit(settings().home / f"include/topics/{name}.yaml", "retention: forever ", "retention: 30 days ")
    read = json.loads(run(topics.app, "plan", "-o", "json"))["id"]
    assert f"!! {name}: retention.ms is -1, declared 2592000000 [loss: less is kept" in run(topics.app, "plan")
    with pytest.raises(RefusedError, match="need --plan"):
        run(topics.app, "apply", "--losing", name)
    with pytest.raises(RefusedError, match="may delete records"):
        run(topics.app, "apply", "--plan", read)
    assert "retention.ms is now 2592000000" in run(topics.app, "apply", "--plan", read, "--losing", name)


def test_a_topic_with_too_many_partitions_is_shown_as_refused(name: str, broker: BrokerProcess) -> None:
    with KafkaPythonAdministration([broker.bootstrap]) as administration:
        administration.create([TopicCreation(name, 5, 1, {"retention.ms": "-1"})])
    assert f"x {name}: partitions is 5, declared 4: refused, Kafka takes no partition away" in run(topics.app, "plan")
    with pytest.raises(RefusedError, match="declare 5"):
        run(topics.app, "apply")


def test_a_day_is_sent_and_shown_in_the_manifest(name: str) -> None:
    run(topics.app, "apply")
    day = ("--from", "2013-01-01", "--to", "2013-01-01")
    said = run(feed.app, "send", "flights", *day)
    assert said == f"Sent 842 records, and a heartbeat at 2013-01-02 09:00 UTC; {name} now has 842 of this feed.\n"
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
