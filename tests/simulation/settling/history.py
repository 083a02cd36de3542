"""One history of a settled table: what is appended, read, settled, repaired and broken, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from itertools import count

from sluice.intervals.entries import LOST
from sluice.settling.ports import UncertainCommitError
from sluice.settling.settler import Round
from sluice.settling.status import SettlingStatus, status_after
from sluice.streams.position.fencing import FencedError
from tests.simulation.breach import BreachError
from tests.simulation.choices import Choices
from tests.simulation.code import Code
from tests.simulation.crew import Actor, Crew
from tests.simulation.history import Outcome
from tests.simulation.settling.appending import append, read
from tests.simulation.settling.inflow import IDLE, Inflow
from tests.simulation.settling.ports import ComputationGate, RawGate, TableGate
from tests.simulation.settling.source import MINUTE, RecordId, bounds_of, is_below
from tests.simulation.settling.world import SETTLER, World
from tests.simulation.transitions import Tally

FAULTS = ("disorder", "poison", "new topic", "withdrawal", "crash", "answer is lost", "transaction", "", "quiet")
"""One has no name any more: without a draw for it every kept seed would tell another history."""
SHARE_OF_FAULTS = 0.45
ROUNDS = 40
"""Of the last settler, until everything must be settled."""


def play(
    crew: Crew, code: Code, source: int | Sequence[int], tally: Tally, *, tells: bool = False, loses: bool = False
) -> Outcome:
    """Play a history; see `tests.simulation.history.play`.

    Args:
        crew: see there.
        code: see there.
        source: see there.
        tally: see there.
        tells: see there.
        loses: whether records are lost before they are read.
    """
    story: list[str] | None = [] if tells else None
    choices = Choices(source)
    world = World(crew, code, choices, tally, story, loses=loses)
    breach = ""
    try:
        _History(world).play()
    except Exception as error:  # noqa: BLE001 - whatever the code under test raises and nobody expects
        breach = str(error) if isinstance(error, AssertionError) else repr(error)
    finally:
        for actor in world.moving:
            actor.crashing = True
        crew.play(lambda: next(iter(world.moving), None))
    return Outcome(breach, choices.made, story or ())


class _History:
    def __init__(self, world: World) -> None:
        self._world = world
        choices = world.choices
        if choices.chance(0.85):
            world.enabled = frozenset(fault for fault in FAULTS if choices.chance(SHARE_OF_FAULTS))
        self._steps = 80 + choices.below(120) + 60 * (len(world.inflows) - 1)
        self._still = 0
        self._silent = 0
        self._settlers = 1 + choices.below(4)
        self._nonces = (f"n{number}" for number in count())

    def play(self) -> None:
        world = self._world
        if world.begins_late:
            self._begin_behind_records()
        world.crew.play(self._direct)
        self._end()

    def _begin_behind_records(self) -> None:
        """Let records be appended, of which the raw tables may not have all yet, and the pipeline begin behind them."""
        world = self._world
        for _ in range(10 + world.choices.below(30)):
            (read if world.choices.chance(0.2) else append)(world)
        ends = {inflow.name: inflow.topic.ends() for inflow in world.inflows}
        world.beginning = {name: own for name, own in ends.items() if any(own.offsets.values())}
        world.say("begins late")

    def _direct(self) -> Actor | None:
        """Decide who goes on; None ends the play."""
        while self._steps > 0:
            self._steps -= 1
            dice = self._dice()
            chosen = self._move(dice) if dice < 11 else self._change(dice)
            if chosen is not None:
                return chosen
        return None

    def _dice(self) -> int:
        choices, world = self._world.choices, self._world
        if self._silent or (world.idles and world.moving and choices.chance(0.08)):
            return self._while_silent()
        if not self._still and not choices.chance(0.05):
            return choices.below(20)
        self._still = self._still - 1 if self._still else choices.below(30)
        return 11 + choices.below(6)  # all stand where they are, while the world goes on

    def _while_silent(self) -> int:
        """Let all be read, and settlers go on, while nothing is appended."""
        world, choices = self._world, self._world.choices
        self._silent = self._silent - 1 if self._silent else 40
        for inflow in world.inflows if choices.chance(0.3) else ():
            inflow.raw.read_all()
        if choices.chance(0.2):
            world.clock.sleep(60 * choices.below(15))
        return choices.below(11)

    def _move(self, dice: int) -> Actor | None:
        moving, current = self._world.moving, self._world.crew.current
        if dice < 7 and current in moving:
            return current
        return self._world.choices.pick(moving) if moving else None

    def _change(self, dice: int) -> Actor | None:
        moving = self._world.moving
        if dice < 15:
            append(self._world)
        elif dice < 17:
            read(self._world)
        elif dice == 17:
            return self._begin() if self._settlers and len(moving) < 3 else None
        elif dice == 18 and moving and "crash" in self._world.enabled:
            return self._crash(self._world.choices.pick(moving))
        else:
            self._happen()
        return None

    def _begin(self) -> Actor:
        world = self._world
        if world.choices.chance(0.25):
            world.begin("backfill", world.recompute)
        else:
            self._settlers -= 1
            world.generation += 1
            rounds = 1 + world.choices.below(10 if world.idles else 4)
            world.begin(f"settler {world.generation}", partial(self._settle, world.generation, rounds))
        return world.actors[-1]

    def _crash(self, actor: Actor) -> Actor:
        self._world.say("fault: crash", f"{actor.name} {actor.at}")
        actor.crashing = True
        return actor

    def _settle(self, generation: int, rounds: int) -> None:
        world = self._world
        code = world.code
        inflows = world.inflows[:: world.choices.pick((1, -1))]  # the order in which a spec names topics says nothing
        rules = {inflow.name: inflow.rules for inflow in inflows}
        table = TableGate(world, code.table.SettledDelta(world.store, generation, rules, world.beginning))
        author = code.settler.SettlerIdentity(SETTLER, generation, "c")
        raw, computation = {inflow.name: RawGate(world, inflow) for inflow in inflows}, ComputationGate(world)
        settler = code.settler.Settler(
            author, rules, raw, computation, table, clock=world.clock, nonce=lambda: next(self._nonces)
        )
        try:
            table.open()
            idle, status = 0, None
            for _ in range(rounds):
                done = settler.round()
                status = status_after(status, done, rules, world.clock.now())
                self._judge(done, status)
                idle = idle + 1 if done.outcome == "waiting" else 0
                if rounds == ROUNDS and idle == 3:
                    break
                if world.ending and any(inflow.barren for inflow in inflows):
                    world.clock.sleep(60 * IDLE)  # until then nobody knows that it is silent
                world.say(f"round: {done.outcome}", f"by {generation}, until {done.settled_until}")
        except FencedError:
            world.say("settler: fenced", generation)
        except UncertainCommitError:
            world.say("settler: gave up", generation)

    def _judge(self, done: Round, status: SettlingStatus) -> None:
        """See that a round says of itself what is so.

        Raises:
            BreachError: it does not.
        """
        world = self._world
        if done.outcome == "waiting" and status.due and not status.unread:
            raise BreachError(f"{status.due} intervals are due, and nothing is named that holds them")
        for inflow in world.inflows:
            measured = done.sources[inflow.name].examined.disorder
            if not (world.excused or inflow.poisoned) and measured > inflow.rules.arrival_disorder:
                raise BreachError(f"a disorder of {measured} is measured in {inflow.name} that never was")

    def _happen(self) -> None:
        world, choices = self._world, self._world.choices
        fault = choices.pick(("transaction", "new topic", "quiet", "withdrawal"))
        if fault not in world.enabled:
            return
        topic = choices.pick(world.inflows).topic
        if fault == "transaction" and topic.open_since:
            topic.open_since.pop(choices.pick(sorted(topic.open_since)))
        elif fault == "new topic":
            world.say("fault: new topic")
            topic.create_again()
        elif fault == "quiet" and world.live:
            world.say("fault: quiet")
            world.clock.sleep(3 * 3_600)
        elif fault == "withdrawal":
            world.act()

    def _end(self) -> None:
        """Let everything be read and settled, repair what is marked, and compare all of it with all records.

        Raises:
            BreachError: something is missing, doubled, or not settled.
        """
        world = self._world
        world.enabled, world.ending = frozenset(), True
        for actor in world.moving:
            actor.crashing = True
        world.crew.play(lambda: next(iter(world.moving), None))
        for inflow in world.inflows:
            inflow.topic.open_since = {}
        longest = max(inflow.rules.margin for inflow in world.inflows) + 2 * world.length
        until = max(inflow.newest_known for inflow in world.inflows) + longest
        while any(inflow.time < until for inflow in self._fertile):
            self._heartbeat()
        self._settle_all()
        self._heartbeat()  # after a long silence one record proves nothing: see `advanced`
        self._settle_all()
        newest = world.settled()
        spans = [] if newest is None else world.unconfirmed(newest[1])
        if spans:
            world.decide(max(spans).last)
        if spans or len(self._fertile) < len(world.inflows):  # silence alone may have taken the last settler's rounds
            self._settle_all()
        self._compare()

    def _settle_all(self) -> None:
        world = self._world
        for inflow in world.inflows:
            inflow.raw.read_all()
        world.generation += 1
        self._run("settler", partial(self._settle, world.generation, ROUNDS))

    def _heartbeat(self) -> None:
        world = self._world
        world.clock.sleep(30 * 60)
        for inflow in self._fertile:
            inflow.pass_to(world.clock.now() if world.live else inflow.time + 30 * MINUTE)

    @property
    def _fertile(self) -> list[Inflow]:
        """The topics to which something is appended at all."""
        return [inflow for inflow in self._world.inflows if not inflow.barren]

    def _run(self, name: str, operation: Callable[[], object]) -> None:
        """Let one actor alone do something."""
        world = self._world
        world.begin(name, operation)
        actor = world.actors[-1]
        world.crew.play(lambda: None if actor.ended else actor)

    def _compare(self) -> None:
        world = self._world
        ledger = world.ledger()
        if not (touched := self._touched()):
            return
        by = min(inflow.time for inflow in self._fertile)  # of a topic without records, what comes arrives later
        complete = min(inflow.rules.complete_until(by if inflow.barren else inflow.time) for inflow in world.inflows)
        if ledger.closed_until is None or ledger.closed_until < complete:
            raise BreachError(f"settled until {ledger.closed_until} only, though all has arrived by {by}")
        if world.begins_late and not world.withdrawn and ledger.first is not None and ledger.first < min(touched):
            raise BreachError(f"settled from {ledger.first} on, and the pipeline begins with {min(touched)}")
        marked = [row for row in world.ledger().rows.values() if row.dirty]
        if open_again := [row for row in marked if any("withdrawn" in why for why in row.dirty)]:
            raise BreachError(f"{[f'{row.interval.start:%H:%M}' for row in open_again]} are not settled again")
        self._repair_at_once()
        for _ in marked:
            self._run("repair", world.recompute)
        if any(not why.endswith(LOST) for row in world.ledger().spans for why in row.dirty):
            raise BreachError("a mark that no repair can take away")
        wrong = [start for start in sorted(touched) if self._lacks(start)]
        if wrong:
            raise BreachError(f"after all repairs {[f'{start:%d %H:%M}' for start in wrong]} are wrong")

    def _touched(self) -> set[datetime]:
        """Return the intervals that hold records on time behind the beginning."""
        world = self._world
        never = {topic: below for reach in world.beginning.values() for topic, below in bounds_of(reach).items()}
        return {
            start
            for each in world.inflows
            for record in each.on_time
            if not is_below(record.id, never)
            for start in each.raw.index.intervals(record)
        }

    def _repair_at_once(self) -> None:
        """Let two repair the same interval: who publishes last is refused."""
        world = self._world
        world.begin("repair", world.recompute)
        slow = world.actors[-1]
        world.crew.play(lambda: None if slow.ended or slow.at == "backfill publishes" else slow)
        self._run("repair", world.recompute)
        world.crew.play(lambda: None if slow.ended else slow)

    def _lacks(self, start: datetime) -> bool:
        world = self._world
        all_read = {topic: below for each in world.inflows for topic, below in bounds_of(each.position().reach).items()}
        held: list[RecordId] = world.store.rows.get(start, [])
        return held != world.rows(start, all_read)
