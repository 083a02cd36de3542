"""What is personal is not seen where a suite does not want it seen."""

from __future__ import annotations

import pytest

from sluice.quality.check_result import CheckResult
from sluice.quality.gate import judge
from sluice.quality.samples import masked
from sluice.specs.expectations.model import Samples
from tests.unit.quality.suites import suite

PERSON = "Jane.Doe42@example.org"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (PERSON, "Xxxx.Xxx99@xxxxxxx.xxx"),
        ("name=Éva, age=7", "name=Xxx, age=9"),
        ("a=b=c", "a=x=x"),
        ("+49 30 1234", "+99 99 9999"),
        ("", ""),
    ],
)
def test_a_masked_value_shows_its_form(text: str, form: str) -> None:
    assert masked(text) == form


@pytest.mark.parametrize("samples", [Samples.MASKED, Samples.NONE])
@pytest.mark.parametrize(
    "fate",
    [
        lambda declared: CheckResult.of(declared, success=False, unexpected=1, observed="1 of 2", sample=(PERSON,)),
        lambda declared: CheckResult.of(declared, success=False, observed=f"observed ['{PERSON}']"),
        lambda declared: CheckResult.failed(
            declared, f"NumberFormatException: [CAST_INVALID_INPUT] The value '{PERSON}' of"
        ),
        lambda declared: CheckResult.failed(declared, f"{PERSON}: is no number"),
    ],
    ids=["sample", "observed", "error", "nameless-error"],
)
def test_no_result_holds_the_value_itself(samples: Samples, fate: object) -> None:
    declared = suite().model_copy(update={"samples": samples})
    assert callable(fate)
    result = judge(declared, {0: fate(declared.expectations[0])}, rows=2, input_records=2)
    assert not result.passed
    assert "Doe" not in result.to_json()
    assert "Doe42" not in "".join(result.failures)


def test_the_name_of_an_error_stays() -> None:
    declared = suite().model_copy(update={"samples": Samples.NONE})
    failed = CheckResult.failed(
        declared.expectations[0], "NumberFormatException: [CAST_INVALID_INPUT] The value '7' of"
    )
    (found,) = judge(declared, {0: failed}, rows=2, input_records=2).checked
    assert found.error == "NumberFormatException: CAST_INVALID_INPUT (the message may quote values, and is left out)"
