"""The rules of settling, each broken on purpose: a simulation that does not notice one proves nothing of it."""

from __future__ import annotations

from tests.simulation.code import Mutant

ARRIVALS = "sluice.intervals.arrivals"
LEDGER = "sluice.intervals.ledger"
RULES = "sluice.settling.rules"
COMPLETENESS = "sluice.settling.completeness"
EXAMINATION = "sluice.settling.examination"
STATE = "sluice.settling.state"
SETTLER = "sluice.settling.settler"
TABLE = "tests.simulation.settling.table"

MODULES = (ARRIVALS, LEDGER, RULES, COMPLETENESS, EXAMINATION, STATE, SETTLER, TABLE)
"""What is simulated, in the order of import."""

MUTANTS = (
    Mutant(
        "offsets of a topic that was deleted count in the one after it",
        EXAMINATION,
        "0 if record.earlier else record.offset + 1",
        "record.offset + 1",
        seed=475,
    ),
    Mutant(
        "ends are listed before the table is pinned",
        SETTLER,
        "        pinned = self._raw.pin()\n"
        "        asked_at = self._clock.monotonic()\n"
        "        listed = self._raw.listed_ends()  # after the table was pinned: see `completeness`\n",
        "        asked_at = self._clock.monotonic()\n"
        "        listed = self._raw.listed_ends()\n        pinned = self._raw.pin()\n",
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
        seed=278,
    ),
    Mutant(
        "disorder is not waited for",
        RULES,
        " + self.allowed_lateness + self.arrival_disorder\n",
        " + self.allowed_lateness\n",
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
        seed=2987,
    ),
    Mutant(
        "a source is silent though records of it are unread",
        COMPLETENESS,
        "        unread = not read.covers(listed)\n",
        "        unread = False\n",
    ),
    Mutant(
        "silence goes on while records come",
        COMPLETENESS,
        "        if unread or listed != self._ends:\n",
        "        if unread or self._ends is None:\n",
    ),
    Mutant(
        "a silence is taken for longer than it is",
        SETTLER,
        "        answered_at = self._clock.monotonic()\n",
        "        answered_at = asked_at - 1_800\n",
    ),
    Mutant("lookback touches nothing", RULES, "start <= event + self.lookback", "start <= event", seed=1293),
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
        seed=904,
    ),
    Mutant("marks are left out of the commit", SETTLER, "overtaken=found.overtaken,", "overtaken={},"),
    Mutant(
        "a mark counts for nothing",
        LEDGER,
        "        if base is None or not base.reach.covers(reach):\n",
        "        if False:\n",
    ),
    Mutant(
        "rows are computed from more than was examined",
        SETTLER,
        "self._raw.compute(pinned, after.examined, due)",
        "self._raw.compute(pinned, pinned.reach, due)",
    ),
    Mutant(
        "what was examined outlives another decision",
        SETTLER,
        "if self._progress is not None and self._progress.decided_at == state.decided_at:",
        "if self._progress is not None:",
    ),
    Mutant(
        "the beginning is forgotten",
        SETTLER,
        "first_event=after.first_event if due is None and state.settled_until is None else None,",
        "first_event=None,",
    ),
    Mutant("any advance is believed", ARRIVALS, "        if span.first <= limit\n", "        if True\n"),
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
        "a former version is not ousted",
        TABLE,
        'ousted = frozenset({self._ousted} - {""})',
        "ousted = frozenset[str]()",
    ),
    Mutant(
        "what was appended to an open interval stays",
        TABLE,
        "            self._store.replace(rows.rows, entry.since, entry.settled_until)\n",
        "            self._store.put(rows.rows)\n",
    ),
    Mutant(
        "a settled table begins where nothing was read", STATE, "Reach(newest.entry.end, topics)", "Reach({}, topics)"
    ),
    Mutant("what was withdrawn stays settled", STATE, "replace(state, settled_until=since, clocks=clocks)", "state"),
    Mutant(
        "a settlement takes no mark away",
        LEDGER,
        "self._facts.change(start, end, writing(written, reach))",
        "self._facts.change(start, end, writing(written))",
    ),
)

OF_LOSSES = (
    Mutant(
        "holes in the raw table are passed over",
        SETTLER,
        "        for hole in reversed(pinned.holes):\n",
        "        for hole in ():\n",
    ),
    Mutant(
        "a hole with nothing behind it is passed",
        SETTLER,
        "                offsets[hole.partition] = min(hole.first, offsets[hole.partition])\n",
        "                bounded.append(_BoundedHole(hole, first, first or self._clock.now()))\n",
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
