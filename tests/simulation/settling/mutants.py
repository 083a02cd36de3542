"""The rules of settling, each broken on purpose: a simulation that does not notice one proves nothing of it."""

from __future__ import annotations

from tests.simulation.code import Mutant

ARRIVALS = "sluice.intervals.arrivals"
REACH = "sluice.intervals.reach"
FACTS = "sluice.intervals.facts"
CONTINUATION = "sluice.intervals.continuation"
LEDGER = "sluice.intervals.ledger"
RULES = "sluice.settling.rules"
COMPLETENESS = "sluice.settling.completeness"
EXAMINATION = "sluice.settling.examination"
STATE = "sluice.settling.state"
SOURCE = "sluice.settling.source"
BEGINNING = "sluice.settling.beginning"
SETTLER = "sluice.settling.settler"
TABLE = "tests.simulation.settling.table"

MODULES = (
    *(ARRIVALS, FACTS, CONTINUATION, LEDGER, RULES, COMPLETENESS, EXAMINATION),
    *(STATE, SOURCE, BEGINNING, SETTLER, TABLE),
)
"""What is simulated, in the order of import. `REACH` is a value: its mutants are put into the real class."""

MUTANTS = (
    Mutant(
        "offsets of a topic that was deleted count in the one after it",
        EXAMINATION,
        "0 if record.earlier else record.offset + 1",
        "record.offset + 1",
        seed=1866,
    ),
    Mutant(
        "an interval behind one that lacks records is taken for sound",
        CONTINUATION,
        "        if row.dirty and (cause is None",
        "        if row.dirty and last is row and (cause is None",
    ),
    Mutant(
        "an interval that continues another state than there is now is taken for sound",
        CONTINUATION,
        "            broken = last.carried.after != row.carried.before\n",
        "            broken = False\n",
    ),
    Mutant(
        "an interval continues the first state that there ever was",
        CONTINUATION,
        "    newest = before[-1] if before else None\n",
        "    newest = before[0] if before else None\n",
    ),
    Mutant(
        "ends are listed before the table is pinned",
        SOURCE,
        "        pinned = self._raw.pin()\n"
        "        asked_at = self._clock.monotonic()\n"
        "        listed = self._raw.listed_ends()  # after the table was pinned: see `completeness`\n",
        "        asked_at = self._clock.monotonic()\n"
        "        listed = self._raw.listed_ends()\n        pinned = self._raw.pin()\n",
        seed=2015,
    ),
    Mutant(
        "a partition with unread records holds nothing",
        COMPLETENESS,
        "    held = {partition: clocks.accepted.get(partition) for partition in unread}\n",
        "    held: dict[str, datetime | None] = {}\n",
    ),
    Mutant(
        "a partition of which nothing was read holds nothing",
        COMPLETENESS,
        "if len(known) == len(held) else None",
        "",
        seed=593,
    ),
    Mutant(
        "disorder is not waited for",
        RULES,
        " + self.allowed_lateness + self.arrival_disorder\n",
        " + self.allowed_lateness\n",
        seed=1138,
    ),
    Mutant(
        "lateness is not waited for",
        RULES,
        " + self.allowed_lateness + self.arrival_disorder\n",
        " + self.arrival_disorder\n",
    ),
    Mutant(
        "lookahead is not waited for",
        RULES,
        "return self.lookahead + self.allowed_lateness",
        "return self.allowed_lateness",
        seed=4777,
    ),
    Mutant(
        "a source is silent though records of it are unread",
        COMPLETENESS,
        "        unread = not read.covers(listed)\n",
        "        unread = False\n",
        seed=116,
    ),
    Mutant(
        "silence goes on while records come",
        COMPLETENESS,
        "        if unread or listed != self._ends:\n",
        "        if unread or self._ends is None:\n",
        seed=3444,
    ),
    Mutant(
        "a silence is taken for longer than it is",
        SOURCE,
        "        answered_at = self._clock.monotonic()\n",
        "        answered_at = asked_at - 1_800\n",
        seed=1347,
    ),
    Mutant("lookback touches nothing", RULES, "start <= event + self.lookback", "start <= event", seed=141),
    Mutant("lookahead touches nothing", RULES, "self._from(event - self.lookahead,", "self._from(event,"),
    Mutant(
        "nobody asks whether a record came too late for its interval",
        EXAMINATION,
        "                overtaken[interval.start][record.partition] = 0 if record.earlier else record.offset + 1\n",
        "                pass\n",
    ),
    Mutant(
        "marks wait for the next interval",
        SETTLER,
        "if may_grow and nothing_found and",
        "if due is None and",
        seed=1699,
    ),
    Mutant(
        "marks are left out of the commit",
        SETTLER,
        "overtaken=_merged([own.found.overtaken for own in each]),",
        "overtaken={},",
    ),
    Mutant(
        "a mark counts for nothing",
        LEDGER,
        "        if base is None or not base.reach.covers(reach):\n",
        "        if False:\n",
    ),
    Mutant(
        "rows are computed from more than was examined",
        SETTLER,
        "        below = {topic: each.reach for topic, each in examined.items()}\n",
        "        below = {topic: each.reach for topic, each in pinned.items()}\n",
        seed=257,
    ),
    Mutant(
        "what was examined outlives another decision",
        SETTLER,
        "if self._progress is not None and self._progress.decided_at == state.decided_at:",
        "if self._progress is not None:",
        seed=101,
    ),
    Mutant(
        "the beginning is forgotten",
        SETTLER,
        "replace(own.after, first_event=None if begun else own.after.first_event)",
        "replace(own.after, first_event=None)",
    ),
    Mutant("any advance is believed", ARRIVALS, "        if span.first <= limit\n", "        if True\n", seed=8),
    Mutant(
        "a lost answer is taken for a failure",
        SETTLER,
        "            done, lost = self._table.holds(state, entry), error\n",
        "            done, lost = False, error\n",
    ),
    Mutant(
        "a commit is made at whichever version is next",
        TABLE,
        "        if self._store.version != state.version:\n            return False\n",
        "",
    ),
    Mutant(
        "the table is not marked",
        TABLE,
        "            self._store.marked = self.generation\n",
        "            pass\n",
    ),
    Mutant(
        "what an interval held before stays beside what it is settled with again",
        TABLE,
        "            self._store.replace(rows.rows, entry.since, entry.settled_until)\n",
        "            self._store.put(rows.rows)\n",
    ),
    Mutant(
        "what was examined is examined again",
        STATE,
        "entry.settled_until, entry.sources, entry.nonce",
        "entry.settled_until, {}, entry.nonce",
    ),
    Mutant(
        "what lies before a pipeline's beginning is examined",
        STATE,
        "for name, reach in (beginning or {}).items()}",
        "for name, reach in [*(beginning or {}).items()][:0]}",
    ),
    Mutant(
        "what was withdrawn stays settled",
        STATE,
        "replace(_with_clocks(state, clocks), settled_until=since)",
        "state",
        seed=57,
    ),
    Mutant(
        "a settlement takes no mark away",
        LEDGER,
        "self._facts.change(start, end, writing(written, reach))",
        "self._facts.change(start, end, lambda facts, own=written: Facts(own, own, dirt=(facts or NOTHING).dirt))",
        seed=57,
    ),
)

OF_TWO_TOPICS = (
    Mutant(
        "one arrival time of the future begins a topic's clock, and the other topic is settled by it",
        BEGINNING,
        "lone[topic] - rules[topic].max_advance > reached",
        "not reached",
        seed=985967450,
    ),
    Mutant(
        "a topic stays empty to which something came while the others were read",
        SOURCE,
        "        if not found.complete.is_empty or found.after.reach.covers(self._raw.listed_ends()):\n",
        "        if found:\n",
        seed=321870850,
    ),
    Mutant(
        "an interval is due when the first topic has passed it",
        SETTLER,
        "for topic, each in found.items() if not each.complete.is_empty}",
        "for topic, each in [*found.items()][:1] if not each.complete.is_empty}",
    ),
    Mutant(
        "the rules of one topic are those of the other",
        SETTLER,
        "SettledSource(own, raw[topic], clock) for topic, own in rules.items()",
        "SettledSource(next(iter(rules.values())), raw[topic], clock) for topic in rules",
    ),
    Mutant(
        "marks of one topic are dropped",
        SETTLER,
        "_merged([own.found.overtaken for own in each])",
        "_merged([own.found.overtaken for own in each][:1])",
        seed=63,
    ),
    Mutant(
        "of two topics that overtake an interval only one is on record",
        SETTLER,
        "for own in overtaken for p, end in own.get(start, {}).items()} for start in starts}",
        "for own in overtaken[-1:] for p, end in own.get(start, {}).items()} for start in starts}",
        seed=404,
    ),
    Mutant(
        "the table begins with the first topic",
        SETTLER,
        "begin = min((begin for begin in begins if begin is not None), default=None)",
        "begin = next((begin for begin in begins if begin is not None), None)",
    ),
    Mutant(
        "rows hold more of the second topic than was examined",
        SETTLER,
        "        below = {topic: each.reach for topic, each in examined.items()}\n",
        "        below = {topic: each.reach for topic, each in examined.items()}\n"
        "        below |= {topic: pinned[topic].reach for topic in [*below][1:]}\n",
        seed=257,
    ),
    Mutant(
        "a topic that is empty holds the other for ever",
        COMPLETENESS,
        "        return self.clock is None and bool(self.silence) and not self.unread\n",
        "        return False\n",
        seed=22,
    ),
    Mutant(
        "a topic with unread records counts as empty",
        COMPLETENESS,
        "        return self.clock is None and bool(self.silence) and not self.unread\n",
        "        return self.clock is None\n",
        seed=74,
    ),
    Mutant(
        "what comes to a topic that was empty is taken for punctual",
        SETTLER,
        "own.rules.complete_until(clocks.get(topic, slowest)) for topic, own in self._sources.items()",
        "self._sources[topic].rules.complete_until(clock) for topic, clock in clocks.items()",
        seed=6141,
    ),
    Mutant(
        "what bore an advance out is forgotten before anything is settled",
        ARRIVALS,
        "            replace(span, witnessed=True)\n",
        "            span\n",
        seed=967,
    ),
    Mutant(
        "a withdrawal winds no clock back",
        STATE,
        "source.clocks.withdrawn(since + rules[name].margin)",
        "source.clocks",
        seed=1197,
    ),
    Mutant(
        "a withdrawal winds the clock of the first topic back only",
        STATE,
        "                    if name in rules\n",
        "                    if name == next(iter(rules))\n",
        seed=8076,
    ),
    Mutant(
        "who has read the first topic has read the second",
        REACH,
        "for name in names)  # noqa",
        'for name in names if name == "flights")  # noqa',
        seed=63,
    ),
    Mutant(
        "offsets of one topic lie in the other",
        REACH,
        "for name in names for topic in self.of(name).topics)",
        'for name in names for topic in self.of({"flights": "weather"}.get(name, "flights")).topics)',
        seed=63,
    ),
)
"""Rules of pipelines that read two topics. Two more take too long to be met by chance: see `test_overtaken.py`."""

OF_LOSSES = (
    Mutant(
        "holes in the raw table are passed over",
        SOURCE,
        "        for hole in reversed(pinned.holes):\n",
        "        for hole in ():\n",
    ),
    Mutant(
        "a hole with nothing behind it is passed",
        SOURCE,
        "                offsets[hole.partition] = min(hole.first, offsets[hole.partition])\n",
        "                bounded.append(_BoundedHole(hole, first, first or self._clock.now()))\n",
        seed=74,
    ),
    Mutant(
        "lost records are taken for punctual ones",
        RULES,
        "min(first, last) - self.arrival_disorder - self.allowed_lateness - self.lookahead",
        "min(first, last) - self.lookahead",
    ),
    Mutant(
        "a settlement takes the mark of a loss away",
        LEDGER,
        "            self._facts.change(start, end, writing(written, reach))\n",
        "            self._facts.change(start, end, lambda _, written=written: Facts(written, written))\n",
    ),
)
"""Rules of what happens when records are lost before they are read."""
