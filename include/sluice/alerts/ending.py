"""What ends an alert about a stream or its unit: evidence that it works, or a stop that is done. Never ignorance."""

from __future__ import annotations

from sluice.specs.model.alerting import AlertClass
from sluice.streams.health.health import Health
from sluice.streams.health.verdict import Verdict

ABOUT_STREAMS = frozenset(
    {AlertClass.LOSS_RISK, AlertClass.REWOUND, AlertClass.STALLED, AlertClass.STOPPED, AlertClass.UNKNOWN}
)
"""Classes whose subject is a stream."""

ABOUT_UNITS = frozenset({AlertClass.HALTED, AlertClass.FAILED_RUN})
"""Classes whose subject is a unit: every one of its streams must end them."""


def ends(alert_class: AlertClass, verdict: Verdict, *, wanted: bool) -> bool:
    """Whether a verdict proves that the condition of an alert is over.

    * A stream that is OK or IDLE works, which ends everything.
    * One that is LAGGING works too, and one that is SCHEDULED has worked to the end of its newest run. A risk of loss
      they end only if no loss is in sight any more.
    * STOPPED ends everything where the stop was asked for, and nothing where the stream is meant to run.
    * Everything else, UNKNOWN first of all, is no evidence of health and ends nothing.

    A class that is not about streams or units is ended by no verdict.

    Args:
        alert_class: what the alert is about.
        verdict: on the stream; for a class about a unit, on each of its streams.
        wanted: whether the stream is meant to run.
    """
    if alert_class not in ABOUT_STREAMS | ABOUT_UNITS:
        return False
    match verdict.health:
        case Health.OK | Health.IDLE:
            return True
        case Health.LAGGING | Health.SCHEDULED:
            return alert_class is not AlertClass.LOSS_RISK or verdict.loss_seconds is None
        case Health.STOPPED:
            return not wanted
        case _:
            return False
