"""What another value of a configuration risks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.provisioning.plans.changes import Risk
from sluice.provisioning.plans.config_risks import config_risk


@pytest.mark.parametrize(
    ("config", "before", "after", "risk"),
    [
        ("retention.ms", "-1", "86400000", Risk.LOSS),
        ("retention.ms", "86400000", "3600000", Risk.LOSS),
        ("retention.ms", None, "86400000", Risk.LOSS),
        ("retention.ms", "86400000", None, Risk.LOSS),
        ("retention.ms", "86400000", "604800000", Risk.SAFE),
        ("retention.ms", None, "-1", Risk.SAFE),
        ("retention.bytes", "-1", "1000", Risk.LOSS),
        ("cleanup.policy", "delete", "compact", Risk.LOSS),
        ("cleanup.policy", "compact", "delete", Risk.LOSS),
        ("unclean.leader.election.enable", "false", "true", Risk.LOSS),
        ("unclean.leader.election.enable", "true", "false", Risk.SAFE),
        ("min.insync.replicas", "1", "2", Risk.APPROVAL),
        ("min.insync.replicas", "2", "1", Risk.APPROVAL),
        ("max.message.bytes", "1000", "2000", Risk.SAFE),
        ("max.message.bytes", "2000", "1000", Risk.APPROVAL),
        ("max.message.bytes", None, "1000", Risk.APPROVAL),
        ("message.timestamp.type", "CreateTime", "LogAppendTime", Risk.APPROVAL),
        ("message.timestamp.after.max.ms", None, "600000", Risk.SAFE),
        ("message.timestamp.after.max.ms", "3600000", "600000", Risk.SAFE),
        ("message.timestamp.after.max.ms", "600000", "3600000", Risk.SAFE),
        ("message.timestamp.after.max.ms", "600000", None, Risk.APPROVAL),
        ("segment.bytes", None, "1048576", Risk.SAFE),
        ("compression.type", "producer", "zstd", Risk.SAFE),
        ("a.name.of.tomorrow", "1", "2", Risk.APPROVAL),
    ],
)
def test_a_change_is_judged_by_what_it_does(config: str, before: str | None, after: str | None, risk: Risk) -> None:
    found, why = config_risk(config, before, after)
    assert found is risk
    assert why


VALUES = st.none() | st.sampled_from(["-1", "0", "5", "7", "many"])


@given(st.sampled_from(["retention.ms", "retention.bytes"]), VALUES, VALUES)
def test_less_retention_is_never_called_safe(config: str, before: str | None, after: str | None) -> None:
    def bound(value: str | None) -> float:
        """Return how much is kept; nothing where that is not known."""
        if value is None or not value.lstrip("-").isdigit():
            return 0.0
        return float("inf") if value == "-1" else float(value)

    risk, _ = config_risk(config, before, after)
    known_before = before in ("-1", "0", "5", "7")
    keeps_all = bound(after) == float("inf") or (known_before and bound(after) >= bound(before) and bound(after) > 0)
    if not keeps_all and not (known_before and after == before):
        assert risk is Risk.LOSS
