"""Which verdict on a mirror ends which alert."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sluice.mirrors.alerting import WELL_FOR, class_of_verdict, ends
from sluice.mirrors.lag import MirrorVerdict
from sluice.specs.model.alerting import AlertClass
from sluice.streams.health.health import Health

OK = MirrorVerdict(Health.OK, "Everything is copied.")
LATE = MirrorVerdict(Health.LAGGING, "It is late.", "look")
DEAD = MirrorVerdict(Health.STOPPED, "It died too often.", "look")
RESTARTED = MirrorVerdict(Health.STOPPED, "It died; it is started again.")
STOPPED = MirrorVerdict(Health.STOPPED, "ada requested it.", rests=True)
STARTING = MirrorVerdict(Health.STARTING, "It is late.", "look")
UNKNOWN = MirrorVerdict(Health.UNKNOWN, "Nobody knows.", "look")
CLASSES = (AlertClass.DEADLINE, AlertClass.STALLED, AlertClass.REWOUND, AlertClass.UNKNOWN, AlertClass.STOPPED)


@pytest.mark.parametrize(
    ("verdict", "left"),
    [
        (OK, ()),
        (STOPPED, ()),
        (LATE, (AlertClass.DEADLINE,)),
        (DEAD, (AlertClass.STOPPED,)),
        (RESTARTED, CLASSES),
        (STARTING, CLASSES),
        (UNKNOWN, CLASSES),
    ],
)
def test_what_a_verdict_that_lasts_ends(verdict: MirrorVerdict, left: tuple[AlertClass, ...]) -> None:
    assert tuple(kind for kind in CLASSES if not ends(kind, verdict, WELL_FOR)) == left
    short = tuple(kind for kind in CLASSES if not ends(kind, verdict, WELL_FOR - timedelta(seconds=1)))
    assert short == (() if verdict.rests else CLASSES)


def test_what_needs_nobody_has_no_class() -> None:
    assert [class_of_verdict(each) for each in (OK, LATE, DEAD, RESTARTED, STARTING, UNKNOWN)] == [
        *(None, AlertClass.DEADLINE, AlertClass.STOPPED, None, None, AlertClass.UNKNOWN)
    ]
