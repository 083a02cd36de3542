"""A member with an explanation is its word alone wherever it is stored, sent or compared."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from sluice.streams.failures.failure import FailureClass
from sluice.streams.health.health import Health
from sluice.wording import ExplainedEnum


@pytest.mark.parametrize("member", [Health.OK, FailureClass.DATA_LOSS])
def test_a_member_is_its_word(member: ExplainedEnum) -> None:
    assert type(member)(member.value) is member
    assert pickle.loads(pickle.dumps(member)) is copy.deepcopy(member) is member  # noqa: S301 - our own bytes
    assert json.loads(json.dumps({member: member})) == {member.value: member.value}
    assert f"{member}" == member.value


def test_advice_may_be_empty_and_a_meaning_may_not() -> None:
    assert (Health.OK.what_to_do, bool(Health.OK.meaning)) == ("", True)
    assert FailureClass.DATA_LOSS.meaning == FailureClass.DATA_LOSS.exit_code.meaning  # type: ignore[union-attr]
