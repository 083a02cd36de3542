"""Deliberate faults, one at a time: a simulation that lets one of them pass proves nothing about the code without them.

Each is one edit of one module's source, and each is a mistake that somebody could make.
"""

from __future__ import annotations

from tests.simulation.code import Mutant

CLAIM, LIFE, GOVERNOR = "sluice.streams.life.claim", "sluice.streams.life.life", "sluice.streams.life.governor"
CLAIMED = "sluice.streams.life.claimed"
RECONCILE, WATCH, ENDING = "sluice.streams.life.reconcile", "sluice.streams.life.watch", "sluice.streams.life.ending"
REQUEST, RECONCILIATION = "sluice.airflow.streams.stream_request", "sluice.airflow.streams.reconciliation"
WATCHER, TABLE = "sluice.airflow.streams.watcher", "tests.simulation.table"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a claim takes unknown for dead",
        CLAIM,
        'return Wait(f"the launcher cannot say whether generation {attempt.generation} lives")',
        'return Start(attempt.generation, None, "silence")',
    ),
    Mutant(
        "a claim takes a lost folder for a death",
        CLAIM,
        "        case AttemptState.ENDED:\n            return Start(",
        "        case AttemptState.ENDED | AttemptState.BOUND:\n            return Start(",
    ),
    Mutant(
        "a driver that lives is followed by the next generation",
        CLAIM,
        'return Adopt(attempt, f"generation {attempt.generation} lives (pid {report.pid})")',
        'return Start(attempt.generation, None, "newer is better")',
    ),
    Mutant(
        "a key that was reserved and never submitted is skipped",
        CLAIM,
        'return Resume(attempt, "an earlier start of it broke off before its driver began")',
        'return Start(attempt.generation, None, "it was never submitted")',
    ),
    Mutant(
        "a stopped unit is claimed",
        CLAIM,
        "if desired is None or desired.state is Desired.STOPPED:\n        return _decide_unwanted(desired)",
        "if desired is None:\n        return _decide_unwanted(desired)",
    ),
    Mutant(
        "the next generation is reserved after whatever is the newest by now",
        LIFE,
        "            self.registry.intend(self.unit, after_generation=generation, key=key, generation=following)",
        "            newest = self.registry.latest_attempt(self.unit)\n"
        "            after = newest.generation if newest else 0\n"
        "            key = submission_key(self.deployment, self.unit, after + 1)\n"
        "            self.registry.intend(self.unit, after_generation=after, key=key)",
    ),
    Mutant(
        "the next generation is reserved before the death is on record",
        LIFE,
        "            self._record_death(start.proven_dead, status.report)\n",
        "            pass\n",
    ),
    Mutant(
        "a submit does not check whether it is outdated",
        LIFE,
        "        attempt = self._refuse_outdated(attempt)\n",
        "",
        seed=224,
    ),
    Mutant(
        "a submit starts once more what was confirmed and cannot be found",
        CLAIMED,
        "    if attempt.state is AttemptState.INTENT:\n        return launcher.submit(",
        "    if True:\n        return launcher.submit(",
        seed=1526,
    ),
    Mutant(
        "a submit does not look for a stop once more",
        LIFE,
        "            if self._stop_requested():\n                report = self.launcher.stop(",
        "            if False:\n                report = self.launcher.stop(",
        seed=338,
    ),
    Mutant(
        "a stop looks for the driver before it is on record",
        LIFE,
        "        self.registry.set_desired_state(self.unit, Desired.STOPPED, by=by, why=why)\n"
        "        return self._end_driver(deadline_seconds)",
        "        report = self._end_driver(deadline_seconds)\n"
        "        self.registry.set_desired_state(self.unit, Desired.STOPPED, by=by, why=why)\n"
        "        return report",
    ),
    Mutant(
        "a stop takes a lost folder for nothing to stop",
        LIFE,
        "            refuse_traceless(attempt, report)\n",
        "",
    ),
    Mutant(
        "a restart starts beside the driver that it did not end",
        LIFE,
        "        self._end_driver(deadline_seconds)\n        return self._claim_and_submit()",
        "        attempt = self.registry.latest_attempt(self.unit)\n"
        "        if attempt is not None:\n"
        "            self.registry.end(self.unit, attempt.generation, exit_code=0, reason='restarted')\n"
        "        return self._claim_and_submit()",
    ),
    Mutant(
        "silence is recorded as death",
        LIFE,
        "            notes = (str(error),)\n",
        "            notes = (str(error),)\n            report = DriverReport(attempt.key, DriverState.LOST)\n",
    ),
    Mutant(
        "a driver that lives can be declared dead",
        LIFE,
        "        if status.alive:\n            raise RefusedError(\n",
        "        if False:\n            raise RefusedError(\n",
    ),
    Mutant(
        "a record that was restored is not caught up with",
        LIFE,
        "            if not self._record_forgotten(status):\n                break\n",
        "            break\n",
        seed=394,
    ),
    Mutant(
        "a record that was lost is not caught up with",
        LIFE,
        "if (attempt is not None and attempt.state is not AttemptState.ENDED) or",
        "if attempt is None or attempt.state is not AttemptState.ENDED or",
        seed=797,
    ),
    Mutant(
        "a resume records no desired state",
        LIFE,
        "        self.registry.set_desired_state("
        'self.unit, Desired.RUNNING, by=by, why=f"{why}{_OVERRIDES}{halted})")\n',
        "",
    ),
    Mutant(
        "nobody obeys the governor",
        LIFE,
        "if governed and (held := self._held(status)) is not None:",
        "if False and (held := self._held(status)) is not None:",
        seed=165,
    ),
    Mutant(
        "the reconciler's runs do not obey the governor",
        REQUEST,
        "    claim = life.claim(governed=True)\n    if isinstance(claim.decision, Rest)",
        "    claim = life.claim()\n    if isinstance(claim.decision, Rest)",
        seed=165,
    ),
    Mutant(
        "the reconciler's runs finish a stop by another request to stop",
        REQUEST,
        "life.finish_stop(request.deadline_seconds)",
        "life.stop(desired.by, desired.why, request.deadline_seconds)",
    ),
    Mutant(
        "the governor knows no desired state",
        GOVERNOR,
        "if attempt.ended_at is not None and attempt.ended_at >= desired.at]",
        "if attempt.ended_at is not None]",
    ),
    Mutant(
        "the passing of time ends HALTED",
        GOVERNOR,
        "if policy.budget is not None and len(within(row, policy.span)) >= policy.budget:",
        "if policy.budget is not None and policy.budget <= sum(now - _ended_at(e) < policy.span for e in row):",
        seed=797,
    ),
    Mutant(
        "a wait begins when it is checked",
        GOVERNOR,
        "    until = released_at(ends)\n",
        "    until = now + (released_at(ends) - _ended_at(newest))\n",
    ),
    Mutant(
        "a wait does not grow",
        GOVERNOR,
        ".wait(len(_row(ends)))",
        ".wait(1)",
    ),
    Mutant(
        "the reconciler finishes no stop",
        RECONCILE,
        "    if now - desired.at < STOP_PATIENCE:",
        "    if now - desired.at < 10_000 * STOP_PATIENCE:",
        seed=335,
    ),
    Mutant(
        "the reconciler tells nobody of what is HALTED",
        RECONCILE,
        "ActionKind.NOTHING if watched else ActionKind.NOTIFY",
        "ActionKind.NOTHING",
    ),
    Mutant(
        "the reconciler starts what is HALTED again and again",
        RECONCILE,
        "            return Correction(kind, str(outlook), about)",
        "            return Correction(ActionKind.START, str(outlook))",
    ),
    Mutant(
        "the reconciler forgets whom it has told",
        RECONCILIATION,
        "action.kind is ActionKind.NOTIFY and notified(name, ended_at or now)",
        "False",
    ),
    Mutant(
        "a watch takes unknown for dead",
        WATCH,
        "    if status.report is None:\n        why = ",
        "    if status.report is None:\n"
        '        return WatchFinding(WatchState.DIED, "It does not answer.")\n'
        "        why = ",
    ),
    Mutant(
        "a watch is red for a stop",
        WATCH,
        '    if status.stop_requested:\n        return WatchFinding(WatchState.STOPPED, f"{ended}',
        '    if False:\n        return WatchFinding(WatchState.STOPPED, f"{ended}',
    ),
    Mutant(
        "a watch sleeps through a death",
        WATCHER,
        "            hinted[watch] = Hint.CHANGED\n",
        "            pass\n",
    ),
    Mutant(
        "a driver does not check the mark before it commits",
        TABLE,
        "    def _check_fence(self) -> ExitCode | None:\n        if self._table.marked > self.generation:\n"
        "            return ExitCode.FENCED\n",
        "    def _check_fence(self) -> ExitCode | None:\n",
        seed=934,
    ),
    Mutant(
        "a driver does not read what the table holds",
        TABLE,
        "        self._held = position(self._table.end)\n        self._next = self._plan\n",
        "        self._held = self._held\n        self._next = self._plan\n",
    ),
    Mutant(
        "a batch that is in the table is written again",
        TABLE,
        "        known = self._table.end >= self._range[1]  # Delta skips a transaction that it has seen\n",
        "        known = False\n",
        seed=556,
    ),
    Mutant(
        "a schedule starts before it is due",
        GOVERNOR,
        "        return None if now >= due else Rest(",
        "        return None if now else Rest(",
    ),
    Mutant(
        "a unit that is idle starts without a record",
        GOVERNOR,
        "class_of(newest) is not FailureClass.IDLE or unread_since is not None:",
        "class_of(newest) is not FailureClass.IDLE or not unread_since:",
    ),
    Mutant(
        "a watch is red for an end that is planned",
        WATCH,
        "    if class_of(end) in PLANNED:\n",
        "    if not class_of(end):\n",
    ),
    Mutant(
        "a unit that waits for records is never started again",
        RECONCILE,
        "        case Go():\n            return _due(start, status, now)\n",
        "        case Go() if status.plan.stop_when_idle:\n"
        "            return Correction(ActionKind.NOTHING, outlook.why)\n"
        "        case Go():\n            return _due(start, status, now)\n",
    ),
    Mutant(
        "a run of a schedule that did not begin is not made up for",
        RECONCILE,
        "    if now - due < DUE_PATIENCE:\n",
        "    if now - due > -DUE_PATIENCE:\n",
    ),
)
