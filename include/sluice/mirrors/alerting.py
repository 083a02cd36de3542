"""What an alert about a mirror is about, and when it is over: a verdict ends alerts once it was given for a while."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from sluice.mirrors.lag import MirrorVerdict
from sluice.specs.model.alerting import AlertClass
from sluice.streams.health.health import WELL, Health
from sluice.streams.health.recording import DWELL

WELL_FOR = DWELL
"""How long a verdict must have been the same: otherwise a recovery would be sent between two crashes."""

_CLASSES: Mapping[Health, AlertClass] = {
    Health.LAGGING: AlertClass.DEADLINE,
    Health.STALLED: AlertClass.STALLED,
    Health.REWOUND: AlertClass.REWOUND,
    Health.UNKNOWN: AlertClass.UNKNOWN,
}


def class_of_verdict(verdict: MirrorVerdict) -> AlertClass | None:
    """Return what an alert about a verdict is about; None if nobody has to act."""
    return _CLASSES.get(verdict.health, AlertClass.STOPPED) if verdict.alerts else None


def ends(alert_class: AlertClass, verdict: MirrorVerdict, lasted: timedelta) -> bool:
    """Whether a verdict proves that the condition of an alert is over.

    * A stop that was asked for and is complete ends everything at once.
    * A mirror that is OK ends everything, if it has been so for a while.
    * What is wrong with it in another way ends what was, after the same while. UNKNOWN ends nothing.
    * STARTING, and STOPPED where it is started again, are no evidence.

    Args:
        alert_class: what the alert is about.
        verdict: on the mirror.
        lasted: how long it has been the same.
    """
    if verdict.rests:
        return True
    if lasted < WELL_FOR:
        return False
    wrong = class_of_verdict(verdict)
    if wrong is None:
        return verdict.health in WELL
    return wrong not in {alert_class, AlertClass.UNKNOWN}
