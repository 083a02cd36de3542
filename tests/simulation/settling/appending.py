"""What producers append to a topic: records that are punctual, late, in disorder, of the future, or unreadable."""

from __future__ import annotations

from datetime import datetime

from tests.simulation.settling.inflow import SMALLEST_READ, Inflow
from tests.simulation.settling.source import MINUTE
from tests.simulation.settling.world import World


def append(world: World) -> None:
    """Let a record be appended to one of the topics."""
    choices = world.choices
    inflow = choices.pick(world.inflows)
    if inflow.barren:
        inflow.barren = not choices.chance(0.02 if world.settled_until() is None else 0.3)
    if inflow.barren:
        inflow = world.inflows[0]
    _pass_time(world, inflow)
    rules, kind = inflow.rules, choices.below(20)
    lateness, disorder = rules.allowed_lateness // MINUTE, rules.arrival_disorder // MINUTE
    partition = choices.below(len(inflow.partitions))
    arrival = inflow.time - choices.below(disorder + 1) * MINUTE
    event = arrival - choices.below(lateness + 1) * MINUTE
    if kind == 3:
        event -= (lateness + choices.below(20)) * MINUTE  # late, or just not
    if kind in (4, 7) and "disorder" in world.enabled:
        arrival -= (disorder + 1 + choices.below(80)) * MINUTE
        event = arrival - choices.below(lateness) * MINUTE
        world.excused = True
    if kind == 5 and "poison" in world.enabled and not world.live:
        arrival = event = inflow.time + 500 * MINUTE
        _poison(world, inflow, partition, arrival)
    topic = inflow.topic
    if kind == 6 and "transaction" in world.enabled and partition not in topic.open_since:
        topic.open_since[partition] = len(topic.logs[partition])
        world.say("fault: transaction")
    topic.append(partition, event, arrival if kind != 2 else None, taken=kind != 1)
    if world.story is not None:
        what = f"event {event:%d %H:%M} arrival {arrival:%H:%M} {kind}"
        world.story.append(f"append {topic.id}/{partition}: {what}")


def _pass_time(world: World, inflow: Inflow) -> None:
    clock, choices = world.clock, world.choices
    if world.live:
        clock.sleep(60 * choices.below(4))
        inflow.time = clock.now()
    else:
        clock.sleep(choices.below(3))
        inflow.time += choices.below(4) * MINUTE
    if choices.chance(0.1):
        clock.sleep(25 * 60)
        inflow.time = clock.now() if world.live else inflow.time + 25 * MINUTE


def _poison(world: World, inflow: Inflow, partition: int, arrival: datetime) -> None:
    inflow.poisoned.add(partition)
    inflow.poison.append(arrival)
    # Two partitions bear each other out, and of two that are read first the clock takes one for the beginning.
    known = (record for record in inflow.raw.stored if record.arrival not in (None, *inflow.poison))
    began = any(record.id[2] < SMALLEST_READ for record in known)
    world.excused = world.excused or len(inflow.poisoned) > 1 or (len(inflow.poison) > 1 and not began)
    world.say("fault: poison")


def read(world: World) -> None:
    """Let the stream of a raw table read some records, or be too late for them."""
    inflow = world.choices.pick(world.inflows)
    partition = world.choices.below(len(inflow.partitions))
    if world.loses and world.choices.chance(0.2):
        world.say("fault: loss")
        inflow.raw.lose(partition, world.choices.pick((1, 3, 1_000)))
    inflow.raw.read(partition, world.choices.pick((1, 3, 1_000)))
    # Of two topics one is nearly always behind, and nothing would be settled before the end.
    for each in world.inflows if len(world.inflows) > 1 and world.choices.chance(0.5) else ():
        each.raw.read_all()
    if world.story is not None:
        world.story.append(f"read {[each.raw.ends for each in world.inflows]}")
