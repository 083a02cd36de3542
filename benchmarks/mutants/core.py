"""The modules whose mutants are tried, by subject, and the tests that must notice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_INTERVALS, _SETTLING, _LIFE = "tests/unit/intervals", "tests/unit/settling", "tests/unit/streams/life"
_HEALTH, _PLANS, _PLACEMENT = "tests/unit/streams/health", "tests/unit/provisioning/plans", "tests/unit/provisioning"
_DECLARED = ("tests/unit/topics/test_declared_value.py", "tests/unit/topics/test_declared_time.py")
_SIMULATED_SETTLING = "tests/unit/settling/test_simulation.py::test_no_history_loses_doubles_or_hides_a_record"
_SIMULATED_LIFE = (
    "tests/unit/streams/test_simulation.py::test_no_history_breaks_a_rule_and_every_history_ends_as_wished"
)
_SETTLER = (
    f"{_SETTLING}/test_two_topics.py",
    f"{_SETTLING}/test_status.py",
    f"{_SETTLING}/test_settling_floor.py",
    _SIMULATED_SETTLING,
)


@dataclass(frozen=True)
class CoreModule:
    """A module whose mutants are tried.

    Attributes:
        subject: what it decides.
        name: of the module.
        tests: paths, or ids of single tests, of those that cover it; the first ones are the most likely to notice.
    """

    subject: str
    name: str
    tests: tuple[str, ...]

    @property
    def path(self) -> str:
        """Return the module's file, from the root of the repository."""
        return f"include/{self.name.replace('.', '/')}.py"


def _modules() -> Iterator[CoreModule]:
    for subject, modules in _TESTS.items():
        for name, tests in modules.items():
            yield CoreModule(subject, f"sluice.{name}", tests)


_TESTS: dict[str, dict[str, tuple[str, ...]]] = {
    "ledger": {
        "intervals.ledger": (
            f"{_INTERVALS}/test_ledger.py",
            f"{_INTERVALS}/test_lossy_intervals.py",
            f"{_INTERVALS}/test_empty_intervals.py",
            f"{_INTERVALS}/test_overtaken.py",
            f"{_INTERVALS}/test_static_digests.py",
            f"{_INTERVALS}/test_continuation.py",
            f"{_INTERVALS}/test_healing.py",
            f"{_INTERVALS}/backfill",
        ),
        "intervals.entries": (
            f"{_INTERVALS}/test_entries.py",
            f"{_INTERVALS}/test_ledger.py",
            f"{_INTERVALS}/test_lossy_intervals.py",
            f"{_INTERVALS}/test_static_digests.py",
            f"{_SETTLING}/test_two_topics.py",
            "tests/unit/delta/test_writer_log.py",
            "tests/unit/delta/test_log.py",
            "tests/unit/delta/test_carried_log.py",
        ),
        "intervals.coverage": (f"{_INTERVALS}/test_coverage.py",),
        "intervals.spans": (f"{_INTERVALS}/test_spans.py", f"{_SETTLING}/test_arrivals.py"),
        "intervals.alignment": (f"{_INTERVALS}/test_alignment.py", f"{_INTERVALS}/test_ledger.py"),
    },
    "settling": {
        "settling.rules": (
            f"{_SETTLING}/test_rules.py",
            f"{_SETTLING}/test_examination.py",
            f"{_SETTLING}/test_completeness.py",
            *_SETTLER,
        ),
        "settling.completeness": (f"{_SETTLING}/test_completeness.py", *_SETTLER),
        "settling.examination": (f"{_SETTLING}/test_examination.py", *_SETTLER),
        "settling.settler": _SETTLER,
        "settling.source": _SETTLER,
        "settling.state": (f"{_SETTLING}/test_state.py", *_SETTLER),
        "settling.retention": (f"{_SETTLING}/test_retention.py", f"{_SETTLING}/test_settling_floor.py"),
    },
    "planner": {
        "provisioning.placement.planner": (f"{_PLACEMENT}/placement",),
        "provisioning.placement.replicas": (f"{_PLACEMENT}/placement",),
        "provisioning.placement.leaders": (f"{_PLACEMENT}/placement",),
        "provisioning.placement.moves": (f"{_PLACEMENT}/placement",),
        "provisioning.plans.topic_plan": (_PLANS, f"{_PLACEMENT}/test_provisioning.py"),
        "provisioning.plans.changes": (_PLANS, f"{_PLACEMENT}/growth", f"{_PLACEMENT}/test_provisioning.py"),
        "provisioning.plans.assignments": (_PLANS, f"{_PLACEMENT}/test_provisioning.py"),
        "provisioning.plans.config_risks": (_PLANS,),
    },
    "verdicts": {
        "streams.health.verdict": (
            f"{_HEALTH}/test_verdict.py",
            f"{_HEALTH}/test_verdict_over_a_window.py",
            f"{_HEALTH}/test_verdict_properties.py",
            f"{_HEALTH}/test_settlers.py",
            f"{_HEALTH}/test_pauses.py",
        ),
        "streams.health.window": (
            f"{_HEALTH}/test_window.py",
            f"{_HEALTH}/test_verdict.py",
            f"{_HEALTH}/test_cadence.py",
            f"{_HEALTH}/test_lag.py",
            f"{_HEALTH}/test_verdict_over_a_window.py",
        ),
        "streams.health.cadence": (f"{_HEALTH}/test_cadence.py", f"{_HEALTH}/test_verdict.py"),
        "streams.health.recording": (f"{_HEALTH}/test_recording.py", f"{_HEALTH}/test_tracking.py"),
        "streams.life.claim": (f"{_LIFE}/test_claim.py", f"{_LIFE}/test_life.py", f"{_LIFE}/test_governed_life.py"),
        "streams.life.governor": (
            f"{_LIFE}/test_governor.py",
            f"{_LIFE}/test_governed_life.py",
            f"{_LIFE}/test_planned_ends.py",
            f"{_LIFE}/test_reconcile.py",
            _SIMULATED_LIFE,
        ),
        "streams.life.reconcile": (f"{_LIFE}/test_reconcile.py", f"{_LIFE}/test_planned_ends.py"),
        "streams.life.watch": (f"{_LIFE}/test_watch.py", f"{_LIFE}/test_planned_ends.py"),
    },
    "gate": {
        "quality.gate": ("tests/unit/quality", "tests/unit/reports/test_quality_page.py"),
        "quality.measured": ("tests/unit/quality",),
        "quality.intervals": ("tests/unit/quality", "tests/unit/reports/test_history_pictures.py"),
        "quality.breaker": ("tests/unit/quality/test_breaker.py",),
        "intervals.backfill.parity": (
            f"{_INTERVALS}/backfill/test_parity.py",
            f"{_INTERVALS}/backfill/test_trial.py",
            "tests/unit/reports/test_parity_page.py",
        ),
    },
    "validation": {
        "topics.json_object": (*_DECLARED, "tests/unit/topics/test_hostile_records.py"),
        "topics.declared_value": _DECLARED,
        "topics.declared_time": _DECLARED,
        "quality.reasons": ("tests/unit/quality", "tests/unit/tracing/test_judgement.py"),
        "values.time_pattern": ("tests/unit/values/test_time_pattern.py",),
        "values.line_pattern": ("tests/unit/values/test_line_pattern.py",),
    },
}

CORE = tuple(_modules())
