"""Every word of the design and of an answer, with what it means and what to do: one list, for people who look it up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sluice.alerts.delivery import DeliveryOutcome
from sluice.cli.words.design import WORDS
from sluice.intervals.backfill.backfills import BackfillState
from sluice.intervals.backfill.parity import ParityOutcome
from sluice.intervals.ledger import State
from sluice.provisioning.plans.changes import Risk
from sluice.quality.cases import CaseState
from sluice.quality.reasons import EXPLANATIONS, Outcome
from sluice.specs.model.alerting import AlertClass
from sluice.streams.failures.exits import EXPLANATIONS as EXITS
from sluice.streams.failures.failure import EXIT_CODES, REMEDIES, FailureClass
from sluice.streams.health.verdict import Health


@dataclass(frozen=True)
class Code:
    """One word.

    Attributes:
        kind: where it is met, in the plural.
        word: as it is written there.
        meaning: in one clause.
        what_to_do: in one clause; empty if there is nothing to do.
    """

    kind: str
    word: str
    meaning: str
    what_to_do: str = ""


_HEALTH: Mapping[Health, tuple[str, str]] = {
    Health.OK: ("it works: what is unread is young, and batches are committed", ""),
    Health.IDLE: ("nothing is unread, and nothing was for ten minutes", ""),
    Health.STARTING: (
        "records wait, its driver lives, and that driver has not committed a batch yet",
        "wait: Spark takes up to a minute, a first batch as long as there is to read; after ten minutes it is STALLED",
    ),
    Health.LAGGING: (
        "it works, but more arrives than it reads, or catching up takes long",
        "see which phase of a batch takes the time; give it cores, or a driver of its own",
    ),
    Health.STALLED: (
        "records wait, the driver lives, and nothing is committed",
        "read the end of its log; `sluice streams restart` repeats the batch and writes nothing twice",
    ),
    Health.STOPPED: ("there is no driver", "the verdict says whether somebody asked for that, or what comes next"),
    Health.REWOUND: (
        "its position is not where it was, or is none of this topic's",
        "find out whether a checkpoint was restored or the topic created again; `streams reset` begins a new epoch",
    ),
    Health.LOSS_RISK: (
        "the topic's retention is about to delete what is unread, or has done so",
        "raise the retention now, then see why the stream is behind",
    ),
    Health.UNKNOWN: ("it could not be looked at, so nothing is said", "the verdict names what could not be asked"),
}
_STATES: Mapping[State, tuple[str, str]] = {
    State.OPEN: ("the stream may still write it, or it was never streamed", ""),
    State.CLOSED: ("the stream wrote it and will not again", "verify it against a batch"),
    State.PUBLISHED: ("a backfill wrote it", ""),
    State.DIRTY: (
        "the stream's result is known to be incomplete",
        "a repair recomputes it, by itself if the spec says so",
    ),
    State.STALE: ("other code than today's had a part in it", "recompute it, if today's code shall hold for it"),
}
_BACKFILLS: Mapping[BackfillState, tuple[str, str]] = {
    BackfillState.SUBMITTED: (
        "it is asked for, and its process has not claimed its range yet: Spark starts",
        "wait; if that lasts, the machine is busy, and `SLUICE_BATCH_NICENESS=0` gives a batch its share",
    ),
    BackfillState.RUNNING: ("its process works on its range", "`sluice backfill status` says how far it is"),
    BackfillState.DONE: ("all is as it should be", ""),
    BackfillState.FAILED: ("it found what should not be, or broke off", "read its report; the same key goes on"),
    BackfillState.CANCELLED: ("somebody stopped it; what was published until then stays", "the same key goes on"),
}
_PARITY: Mapping[ParityOutcome, tuple[str, str]] = {
    ParityOutcome.IDENTICAL: ("stream and batch agree row by row", ""),
    ParityOutcome.EXPLAINED: ("every difference lies in an interval that holds late records", ""),
    ParityOutcome.DIFFERENT: (
        "stream and batch differ, and nothing explains it",
        "read the report; a transform that reads a clock, chance or a changing input is the usual cause",
    ),
    ParityOutcome.RECOMPUTED: ("differences are listed, and none is judged", ""),
    ParityOutcome.INCONCLUSIVE: (
        "nothing was compared, which is no pass",
        "the report says why: no rows, dirty, or never streamed",
    ),
}
_OUTCOMES: Mapping[Outcome, tuple[str, str]] = {
    Outcome.GOOD: ("the record is what its topic declares, and in time", ""),
    Outcome.QUARANTINED: (
        "the record is not what its topic declares; it is kept, with the reason",
        "`sluice quarantine list`",
    ),
    Outcome.LATE: (
        "the record arrived later than the pipeline allows",
        "a backfill in mode correct brings it in",
    ),
    Outcome.CONTROL: ("a heartbeat of the feed: counted, and in no result", ""),
}
_CASES: Mapping[CaseState, tuple[str, str]] = {
    CaseState.OPEN: ("its records wait for somebody", "mend the rule or the data, or discard it with a reason"),
    CaseState.FIXED: ("somebody says that what was wrong is mended", "replay it"),
    CaseState.REPLAYED: ("its records are in the results", ""),
    CaseState.DISCARDED: ("its records stay out of the results, on somebody's word", ""),
}
_RISKS: Mapping[Risk, tuple[str, str]] = {
    Risk.SAFE: ("readers and writers do not notice", ""),
    Risk.APPROVAL: ("it is felt, or cannot be undone", "read the plan, then apply it by its id"),
    Risk.LOSS: ("records go", "name the topic when you apply it"),
    Risk.WIDENING: ("a right is opened to everybody, or to everything", "name the principal when you apply it"),
}
_CLASSES: Mapping[AlertClass, tuple[str, str]] = {
    AlertClass.FAILED_RUN: ("a task or a run has failed for good", "mend what its error says, then clear the run"),
    AlertClass.HALTED: ("a unit does not start until a person asks for it", "mend the cause; `sluice streams resume`"),
    AlertClass.LOSS_RISK: ("retention is about to delete what is unread", "raise the retention now"),
    AlertClass.REWOUND: (
        "a stream's position is not where it was",
        "find out who moved it, or created the topic again",
    ),
    AlertClass.STALLED: ("records wait, the driver lives, nothing is committed", "read the end of its log"),
    AlertClass.STOPPED: ("a stream that shall run has had no driver for ten minutes", "see why none is started"),
    AlertClass.UNKNOWN: (
        "nobody has known for ten minutes how a stream is",
        "look at the triggerer",
    ),
    AlertClass.DEADLINE: ("a running stream misses what its spec promises", "see why it is behind"),
    AlertClass.GATE: ("what was computed or published is not as the suite expects", "read the page of the gate"),
    AlertClass.PARITY: ("a batch differs from the stream, and nothing explains it", "read the parity report"),
    AlertClass.DRIFT: ("a topic or a principal is not as declared", "`sluice topics plan`"),
    AlertClass.APPROVAL: ("a plan waits for an answer", "answer on the run's page"),
    AlertClass.DATA: ("a pipeline's own rule holds for a live value", "ask the pipeline's owner"),
    AlertClass.TEST: ("somebody tries the delivery", ""),
}
_DELIVERIES: Mapping[DeliveryOutcome, tuple[str, str]] = {
    DeliveryOutcome.DELIVERED: ("every service took it", ""),
    DeliveryOutcome.FAILED: ("at least one service did not take it", "it is tried again; see what the service said"),
    DeliveryOutcome.NOT_CONFIGURED: ("no service is named: the journal is all there is", "add the Airflow connection"),
    DeliveryOutcome.WITHHELD: ("another alert about the same has called, or it was over before anybody was told", ""),
    DeliveryOutcome.HELD: ("the policy tells it later, if it lasts until then", ""),
    DeliveryOutcome.MUTED: ("the policy tells nobody of it", ""),
}
EXIT_CODES_OF_COMMANDS: Mapping[int, tuple[str, str]] = {
    0: ("done", ""),
    1: ("it failed; the message says what", ""),
    2: ("a spec or an argument is wrong", "all faults are named at once; repair them"),
    3: ("this machine or stack is not ready", "the message names what it lacks; `sluice doctor` looks for it"),
    4: ("could not look: the answer is unknown", "repeat it when what it names can be asked"),
    5: ("refused: it would lose, repeat or overwrite something; nothing was changed", "do what the message says first"),
    6: ("our own data contradicts itself", "keep a copy, and look before anything writes"),
}


@cache
def codes() -> tuple[Code, ...]:
    """Return all of them, by kind."""
    return tuple(_all())


def find(word: str) -> list[Code]:
    """Return the codes of a word, however it is written; those that begin with it where none is it."""
    wanted = _plain(word)
    found = [code for code in codes() if _plain(code.word) == wanted]
    return found or [code for code in codes() if wanted and _plain(code.word).startswith(wanted)]


def _plain(word: str) -> str:
    return word.strip().lower().replace("_", " ").replace("-", " ")


def _all() -> Iterator[Code]:
    yield from _of("words of the design", WORDS)
    yield from _of("verdicts of a stream", _HEALTH)
    for kind in FailureClass:
        exit_code = EXIT_CODES.get(kind)
        meaning = "a person declared it dead" if exit_code is None else EXITS[exit_code]
        yield Code("ends of a driver", kind.value, meaning, REMEDIES.get(kind, ""))
    yield from _of("states of an interval", _STATES)
    yield from _of("states of a backfill", _BACKFILLS)
    yield from _of("results of a comparison", _PARITY)
    yield from _of("outcomes of a record", _OUTCOMES)
    yield from (Code("reasons of the quarantine", reason.value, *texts) for reason, texts in EXPLANATIONS.items())
    yield from _of("states of a case", _CASES)
    yield from _of("risks of a plan", _RISKS)
    yield from _of("classes of an alert", _CLASSES)
    yield from _of("deliveries of an alert", _DELIVERIES)
    yield from _of("exit codes of a command", EXIT_CODES_OF_COMMANDS)


def _of(kind: str, texts: Mapping[Any, tuple[str, str]]) -> Iterator[Code]:
    for word, (meaning, what_to_do) in texts.items():
        yield Code(kind, str(word), meaning, what_to_do)
