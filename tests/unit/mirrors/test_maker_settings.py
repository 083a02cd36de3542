"""What MirrorMaker is told: no secret, one direction, each record once."""

from __future__ import annotations

from datetime import timedelta

from sluice.kafka.client.credentials import as_user, by_token, encrypted
from sluice.kafka.client.java_client import java_settings
from sluice.mirrors.configuration import MakerSettings, MirrorEnd, header_of, maker_settings
from sluice.specs.deployments.mirror import MirrorSpec

KEY = "s3cret-key"
SPEC = MirrorSpec(name="standby", source="here", target="there", topics=("flights",))


def told(spec: MirrorSpec = SPEC) -> MakerSettings:
    login = as_user(encrypted({}, ca="/ca.pem", certificate="/c.pem", key_password=KEY), "ada", "s3cret-a", "PLAIN")
    token = by_token({}, "bob", "s3cret-b", endpoint="https://id.example.org/token")
    ends = (MirrorEnd("here", ("a:1", "b:2"), java_settings(login)), MirrorEnd("there", ("c:3",), java_settings(token)))
    return maker_settings(spec, ("flights", "s.*"), *ends, replication=3, secrets="/state/secrets.properties")


def test_secrets_are_in_the_private_file_alone() -> None:
    properties, secrets = told().properties, told().secrets
    assert "s3cret" not in str(properties)
    assert {"s3cret-a", "s3cret-b", "s3cret-key"} <= {
        word for value in secrets.values() for word in value.replace('"', " ").split()
    }
    for key in secrets:
        assert properties[key] == f"${{file:/state/secrets.properties:{key}}}"
    for client in ("", "consumer.", "producer.", "admin."):
        assert properties[f"here.{client}ssl.ca.location"] == "/ca.pem", "MirrorMaker does not know this setting"


def test_records_go_one_way_under_their_names_each_once_and_committed_ones_only() -> None:
    properties = told().properties
    assert properties["clusters"] == "here,there"
    assert {key: value for key, value in properties.items() if key.endswith(".enabled")} == {
        "emit.heartbeats.enabled": "false",  # of the other direction
        "here->there.enabled": "true",
        "here->there.emit.heartbeats.enabled": "true",
        "here->there.emit.checkpoints.enabled": "true",
        "here->there.emit.offset-syncs.enabled": "true",
        "here->there.heartbeats.replication.enabled": "false",
        "here->there.sync.group.offsets.enabled": "true",
        "here->there.sync.topic.acls.enabled": "false",
        "here->there.sync.topic.configs.enabled": "true",
    }
    assert properties["replication.policy.class"].endswith("IdentityReplicationPolicy")
    assert properties["here.bootstrap.servers"] == "a:1,b:2"
    assert properties["here->there.topics"] == "flights,s.*"
    assert properties["here->there.offset-syncs.topic.location"] == "target"
    assert properties["here.consumer.isolation.level"] == "read_committed"
    assert properties["there.exactly.once.source.support"] == "enabled"
    assert properties["here->there.transforms.position.header"] == header_of("standby")
    assert {value for key, value in properties.items() if key.endswith("replication.factor")} == {"3"}


def test_heartbeats_and_checkpoints_are_as_declared_or_not_there() -> None:
    spec = SPEC.model_copy(update={"heartbeats": timedelta(seconds=7), "checkpoints": None, "sync_configs": False})
    properties = told(spec).properties
    assert properties["here->there.emit.heartbeats.interval.seconds"] == "7"
    assert properties["here->there.emit.checkpoints.enabled"] == "false"
    assert properties["here->there.sync.group.offsets.enabled"] == "false"
    assert properties["here->there.emit.offset-syncs.enabled"] == "false"
    assert "here->there.emit.checkpoints.interval.seconds" not in properties
    assert properties["here->there.sync.topic.configs.enabled"] == "false"
