"""Where the clocks of several topics begin: never with one arrival time alone that is far ahead of the other topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sluice.settling.completeness import NOTHING_KNOWN
from sluice.settling.rules import SettlingRules
from sluice.settling.source import SourceRound


def without_lone_beginnings(
    found: Mapping[str, SourceRound], rules: Mapping[str, SettlingRules]
) -> Mapping[str, SourceRound]:
    """Hold back each clock that rests on one arrival time which lies further ahead of the others than an advance.

    It may be of a record of the future that was read before all others of its topic. The intervals of the other topics
    would be settled by it, without what its own topic has yet to bring. A second arrival time, the other topics, or a
    person bears it out.

    Args:
        found: what one round has found in each topic; nothing is settled yet.
        rules: of each topic.
    """
    clocks = {topic: each.after.clocks for topic, each in found.items()}
    lone = {topic: time for topic, own in clocks.items() if (time := own.lone) is not None}
    if not lone:
        return found
    known = {topic: time for topic, own in clocks.items() if (time := own.newest) is not None}
    reached = max((time for topic, time in known.items() if topic not in lone), default=min(known.values()))
    return {
        topic: _held(each)
        if topic in lone and lone[topic] - rules[topic].max_advance > reached and not each.complete.silence
        else each
        for topic, each in found.items()
    }


def _held(found: SourceRound) -> SourceRound:
    after = replace(found.after, clocks=found.after.clocks.not_begun())
    return replace(found, after=after, complete=NOTHING_KNOWN)
