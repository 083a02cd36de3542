"""One history of a settled table: what is appended, read, settled, repaired and broken, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from itertools import count

from sluice.intervals.entries import LOST
from sluice.settling.ports import UncertainCommitError
from sluice.settling.status import status_after
from sluice.streams.position.fencing import FencedError
from tests.simulation.breach import BreachError
from tests.simulation.choices import Choices
from tests.simulation.code import Code
from tests.simulation.crew import Actor, Crew
from tests.simulation.history import Outcome
from tests.simulation.settling.ports import RawGate, TableGate
from tests.simulation.settling.source import MINUTE
from tests.simulation.settling.world import APPENDER, DISORDER, LATENESS, SETTLER, World
from tests.simulation.transitions import Tally

FAULTS = ("disorder", "poison", "new topic", "withdrawal", "crash", "answer is lost", "transaction", "zombie", "quiet")
SHARE_OF_FAULTS = 0.45
FORMER_VERSION = "former version"
SMALLEST_READ = 2
"""How many records of a partition an examination takes at the least."""
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
        self._steps = 80 + choices.below(120)
        self._still = 0
        self._silent = 0
        self._settlers = 1 + choices.below(4)
        self._nonces = (f"n{number}" for number in count())

    def play(self) -> None:
        world = self._world
        if world.follows:
            for _ in range(10 + world.choices.below(30)):
                self._append()
            world.append_history()
            if "zombie" in world.enabled:
                world.begin(FORMER_VERSION, partial(world.append_again, len(world.store.commits)))
        world.crew.play(self._direct)
        self._end()

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
        if self._silent or (world.rules.idle is not None and world.moving and choices.chance(0.08)):
            return self._while_silent()
        if not self._still and not choices.chance(0.05):
            return choices.below(20)
        self._still = self._still - 1 if self._still else choices.below(30)
        return 11 + choices.below(6)  # all stand where they are, while the world goes on

    def _while_silent(self) -> int:
        """Let all be read, and settlers go on, while nothing is appended."""
        world, choices = self._world, self._world.choices
        self._silent = self._silent - 1 if self._silent else 40
        for partition in range(len(world.topic.logs)) if choices.chance(0.3) else ():
            world.raw.read(partition, 1_000)
        if choices.chance(0.2):
            world.clock.sleep(60 * choices.below(15))
        return choices.below(11)

    def _move(self, dice: int) -> Actor | None:
        moving, current = self._world.moving, self._world.crew.current
        if dice < 7 and current in moving:
            return current
        chosen = self._world.choices.pick(moving) if moving else None
        asleep = chosen is not None and chosen.name == FORMER_VERSION and not self._world.choices.chance(0.2)
        return None if asleep else chosen

    def _change(self, dice: int) -> Actor | None:
        moving = self._world.moving
        if dice < 15:
            self._append()
        elif dice < 17:
            self._read()
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
            rounds = 1 + world.choices.below(4 if world.rules.idle is None else 10)
            world.begin(f"settler {world.generation}", partial(self._settle, world.generation, rounds))
        return world.actors[-1]

    def _crash(self, actor: Actor) -> Actor:
        self._world.say("fault: crash", f"{actor.name} {actor.at}")
        actor.crashing = True
        return actor

    def _settle(self, generation: int, rounds: int) -> None:
        world = self._world
        code = world.code
        table = TableGate(world, code.table.SettledDelta(world.store, generation, world.rules, self._ousted))
        author = code.settler.SettlerIdentity(SETTLER, generation, "c")
        settler = code.settler.Settler(
            author, world.rules, RawGate(world), table, clock=world.clock, nonce=lambda: next(self._nonces)
        )
        try:
            table.open()
            idle, status = 0, None
            for _ in range(rounds):
                done = settler.round()
                status = status_after(status, done, world.rules, world.clock.now())
                if done.outcome == "waiting" and status.due and not status.unread:
                    raise BreachError(f"{status.due} intervals are due, and nothing is named that holds them")
                if not (world.excused or world.poisoned) and done.disorder > DISORDER * MINUTE:
                    raise BreachError(f"a disorder of {done.disorder} is measured that never was")
                idle = idle + 1 if done.outcome == "waiting" else 0
                if rounds == ROUNDS and idle == 3:
                    break
                world.say(f"round: {done.outcome}", f"by {generation}, until {done.settled_until}")
        except FencedError:
            world.say("settler: fenced", generation)
        except UncertainCommitError:
            world.say("settler: gave up", generation)

    @property
    def _ousted(self) -> str:
        return APPENDER if self._world.appended else ""

    def _append(self) -> None:
        world, choices = self._world, self._world.choices
        if world.live:
            world.clock.sleep(60 * choices.below(4))
            world.time = world.clock.now()
        else:
            world.clock.sleep(choices.below(3))
            world.time += choices.below(4) * MINUTE
        if choices.chance(0.1):
            world.clock.sleep(25 * 60)
            world.time = world.clock.now() if world.live else world.time + 25 * MINUTE
        partition = choices.below(len(world.topic.logs))
        kind = choices.below(20)
        arrival = world.time - choices.below(DISORDER + 1) * MINUTE
        event = arrival - choices.below(LATENESS + 1) * MINUTE
        taken, readable = kind != 1, kind != 2
        if kind == 3:
            event -= (LATENESS + choices.below(20)) * MINUTE  # late, or just not
        if kind in (4, 7) and "disorder" in world.enabled:
            arrival -= (DISORDER + 1 + choices.below(30)) * MINUTE
            event = arrival - choices.below(LATENESS) * MINUTE
            world.excused = True
        if kind == 5 and "poison" in world.enabled and not world.live:
            arrival = event = world.time + 500 * MINUTE
            world.poisoned.add(partition)
            world.poison.append(arrival)
            # Two partitions bear each other out, and of two that are read first the clock takes one for the beginning.
            began = any(r.arrival not in (None, *world.poison) and r.id[2] < SMALLEST_READ for r in world.raw.stored)
            world.excused = world.excused or len(world.poisoned) > 1 or (len(world.poison) > 1 and not began)
            world.say("fault: poison")
        if kind == 6 and "transaction" in world.enabled and partition not in world.topic.open_since:
            world.topic.open_since[partition] = len(world.topic.logs[partition])
            world.say("fault: transaction")
        world.topic.append(partition, event, arrival if readable else None, taken=taken, witnessed=False)
        if world.story is not None:
            world.story.append(f"append {partition}: event {event:%d %H:%M} arrival {arrival:%H:%M} {kind}")

    def _read(self) -> None:
        world = self._world
        partition = world.choices.below(len(world.topic.logs))
        if world.loses and world.choices.chance(0.2):
            world.say("fault: loss")
            world.raw.lose(partition, world.choices.pick((1, 3, 1_000)))
        world.raw.read(partition, world.choices.pick((1, 3, 1_000)))
        if world.story is not None:
            world.story.append(f"read {world.raw.ends}")

    def _happen(self) -> None:
        world, choices = self._world, self._world.choices
        fault = choices.pick(FAULTS)
        if fault not in world.enabled:
            return
        if fault == "transaction" and world.topic.open_since:
            world.topic.open_since.pop(choices.pick(sorted(world.topic.open_since)))
        elif fault == "new topic" and world.raw_knows_history:
            world.say("fault: new topic")
            world.topic.create_again()
        elif fault == "quiet" and world.live:
            world.say("fault: quiet")
            world.clock.sleep(3 * 3_600)
        elif fault == "withdrawal":
            self._person()

    def _person(self) -> None:
        world, newest = self._world, self._world.settled()
        if newest is None:
            return
        entry = newest[1]
        if entry.clocks.unconfirmed and world.choices.chance(0.7):
            spans = [span for own in entry.clocks.unconfirmed.values() for span in own]
            world.decide(max(spans).last if world.choices.chance(0.3) else None)
        elif entry.settled_until is not None:
            world.withdraw(entry.settled_until - world.choices.below(4) * world.rules.length)

    def _end(self) -> None:
        """Let everything be read and settled, repair what is marked, and compare all of it with all records.

        Raises:
            BreachError: something is missing, doubled, or not settled.
        """
        world = self._world
        world.enabled, world.ending = frozenset(), True
        for actor in world.moving:
            actor.crashing = actor.name != FORMER_VERSION
        world.crew.play(lambda: next((actor for actor in world.moving if actor.crashing), None))
        world.topic.open_since = {}
        records = [*world.raw.stored, *(record for log in world.topic.logs for record in log)]
        known = [record.arrival for record in records if record.arrival is not None]
        until = max([world.time, *known]) + world.rules.margin + 2 * world.rules.length
        while world.time < until:
            self._heartbeat()
        self._settle_all()
        world.crew.play(lambda: next(iter(world.moving), None))  # who slept until now wakes up
        self._heartbeat()  # after a long silence one record proves nothing: see `advanced`
        self._settle_all()
        newest = world.settled()
        if newest is not None and (spans := [s for own in newest[1].clocks.unconfirmed.values() for s in own]):
            world.decide(max(spans).last)
            self._settle_all()
        self._compare()

    def _settle_all(self) -> None:
        world = self._world
        for partition in range(len(world.topic.logs)):
            world.raw.read(partition, 10_000)
        world.generation += 1
        self._run("settler", partial(self._settle, world.generation, ROUNDS))

    def _heartbeat(self) -> None:
        world = self._world
        world.clock.sleep(30 * 60)
        world.time = world.clock.now() if world.live else world.time + 30 * MINUTE
        for partition in range(len(world.topic.logs)):
            world.topic.append(partition, world.time, world.time, taken=False, witnessed=False)

    def _run(self, name: str, operation: Callable[[], object]) -> None:
        """Let one actor alone do something."""
        world = self._world
        world.begin(name, operation)
        actor = world.actors[-1]
        world.crew.play(lambda: None if actor.ended else actor)

    def _compare(self) -> None:
        world = self._world
        ledger = world.ledger()
        on_time = [record for record in world.raw.stored if record.is_on_time(world.rules)]
        if not on_time:
            return
        if ledger.closed_until is None or ledger.closed_until < world.rules.complete_until(world.time):
            raise BreachError(f"settled until {ledger.closed_until} only, though all has arrived by {world.time}")
        marked = [row for row in world.ledger().rows.values() if row.dirty]
        if open_again := [row for row in marked if any("withdrawn" in why for why in row.dirty)]:
            raise BreachError(f"{[f'{row.interval.start:%H:%M}' for row in open_again]} are not settled again")
        for _ in marked:
            self._run("repair", world.recompute)
        if any(not why.endswith(LOST) for row in world.ledger().spans for why in row.dirty):
            raise BreachError("a mark that no repair can take away")
        touched = {start for record in on_time for start in world.raw.index.intervals(record)}
        wrong = [start for start in sorted(touched) if self._lacks(start)]
        if wrong:
            raise BreachError(f"after all repairs {[f'{start:%d %H:%M}' for start in wrong]} are wrong")

    def _lacks(self, start: datetime) -> bool:
        world = self._world
        return world.store.rows.get(start, []) != world.raw.index.rows(start, world.raw.position().reach)
