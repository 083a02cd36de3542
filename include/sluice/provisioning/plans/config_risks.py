"""What another value of a topic's configuration risks. Kafka's documentation says what each of them does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from sluice.provisioning.plans.changes import Risk

_Judgement: TypeAlias = tuple[Risk, str]
_FOREVER = -1

_UNFELT = frozenset(
    {
        *("compression.type", "compression.gzip.level", "compression.lz4.level", "compression.zstd.level"),
        *("segment.bytes", "segment.ms", "segment.jitter.ms", "segment.index.bytes", "index.interval.bytes"),
        *("flush.messages", "flush.ms", "file.delete.delay.ms", "preallocate", "min.cleanable.dirty.ratio"),
    }
)


def config_risk(config: str, before: str | None, after: str | None) -> tuple[Risk, str]:
    """Return what a change of a configuration risks, and what it does, as a clause.

    A value of None is the broker's default, which is not known here.
    """
    if config in _UNFELT:
        return Risk.SAFE, "it changes how the broker keeps the records, and none of them"
    rule = _RULES.get(config)
    if rule is None:
        return Risk.APPROVAL, "what it does to those who read and write is not known to Sluice"
    return rule(before, after)


def _retention(before: str | None, after: str | None) -> _Judgement:
    was, wanted = _bound(before), _bound(after)
    if wanted == _FOREVER:
        return Risk.SAFE, "more is kept than before"
    if was is None or wanted is None:
        return Risk.LOSS, "what the broker's default keeps is not known: records may go that are kept now"
    if was == _FOREVER or wanted < was:
        return Risk.LOSS, "less is kept than before: the broker deletes what is beyond it within minutes"
    return Risk.SAFE, "more is kept than before"


def _cleanup(before: str | None, after: str | None) -> _Judgement:
    if "compact" in (after or ""):
        return Risk.LOSS, "of each key only the newest record is kept"
    if "compact" in (before or ""):
        return Risk.LOSS, "what compaction kept falls under the topic's retention"
    return Risk.LOSS, "other records are kept than before"


def _unclean(_before: str | None, after: str | None) -> _Judgement:
    if after == "false":
        return Risk.SAFE, "a replica that lags is never made leader"
    return Risk.LOSS, "a replica that lags may be made leader: records that were acknowledged go"


def _in_sync(before: str | None, after: str | None) -> _Judgement:
    was, wanted = _bound(before), _bound(after)
    if was is not None and wanted is not None and wanted < was:
        return Risk.APPROVAL, "a record is acknowledged by fewer brokers: it is lost with fewer of them"
    return Risk.APPROVAL, "with fewer replicas in sync than that, writers with acks=all are refused"


def _largest(before: str | None, after: str | None) -> _Judgement:
    was, wanted = _bound(before), _bound(after)
    if was is not None and wanted is not None and wanted >= was:
        return Risk.SAFE, "larger records are taken than before"
    return Risk.APPROVAL, "records that were taken before may be refused"


def _ahead(_before: str | None, after: str | None) -> _Judgement:
    if after is None:
        return Risk.APPROVAL, "how far ahead of its clock the broker lets timestamps be is not known"
    return Risk.SAFE, "the broker refuses records whose timestamps lie further ahead of its clock than that"


_RULES: Mapping[str, Callable[[str | None, str | None], _Judgement]] = {
    "retention.ms": _retention,
    "retention.bytes": _retention,
    "local.retention.ms": _retention,
    "local.retention.bytes": _retention,
    "delete.retention.ms": _retention,
    "cleanup.policy": _cleanup,
    "unclean.leader.election.enable": _unclean,
    "min.insync.replicas": _in_sync,
    "max.message.bytes": _largest,
    "message.timestamp.type": lambda *_: (Risk.APPROVAL, "the records' timestamps mean something else from then on"),
    "message.timestamp.after.max.ms": _ahead,
}


def _bound(value: str | None) -> int | None:
    """Return a number; None if it is none, or not known."""
    try:
        return None if value is None else int(value)
    except ValueError:
        return None
