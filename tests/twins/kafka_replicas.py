"""Where a Kafka cluster keeps replicas, in memory: the part of the administration's twin that moves them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from sluice.errors import RefusedError, UnreachableError
from sluice.topics.administration import TopicState
from sluice.topics.replica_administration import THROTTLED, BrokerState, PartitionKey, Throttle


@dataclass
class _Move:
    before: tuple[int, ...]
    target: tuple[int, ...]
    polls_left: int


class InMemoryReplicas:
    """`polls_per_move`: how often one has to poll until a move is over; one to a broker that is `down` never is."""

    def __init__(self, brokers: int = 1, racks: Mapping[int, str] | None = None) -> None:
        self.brokers = brokers
        self.racks = dict(racks or {})
        self.down: set[int] = set()
        self.reachable = True
        self.topics: dict[str, TopicState] = {}
        self.polls_per_move = 0
        self.rates: dict[int, int] = {}
        self.most_at_once = 0
        self._moves: dict[PartitionKey, _Move] = {}

    def cluster(self) -> tuple[BrokerState, ...]:
        self._reach()
        return tuple(BrokerState(i, self.racks.get(i)) for i in range(1, self.brokers + 1) if i not in self.down)

    def moving(self) -> Mapping[PartitionKey, tuple[int, ...]]:
        self._reach()
        for key, under_way in list(self._moves.items()):
            if under_way.polls_left <= 0 and not set(under_way.target) & self.down:
                self._place(key, under_way.target, set(under_way.target))
                del self._moves[key]
            under_way.polls_left -= 1
        return {
            key: tuple(broker for broker in under_way.before if broker not in under_way.target)
            for key, under_way in self._moves.items()
        }

    def reassign(self, targets: Mapping[PartitionKey, tuple[int, ...] | None]) -> None:
        self._reach()
        faults = []
        for key, target in targets.items():
            if target is None:
                self._turn_back(key)
            elif not set(target) <= {broker.id for broker in self.cluster()}:
                faults.append(f"{key[0]}/{key[1]} (InvalidReplicaAssignmentError)")
            else:
                self._begin(key, target)
        self.most_at_once = max(self.most_at_once, len(self._moves))
        if faults:
            raise RefusedError(f"The cluster refused to move {', '.join(faults)}.")

    def sizes(self, topics: Collection[str]) -> Mapping[PartitionKey, Mapping[int, int]]:
        self._reach()
        return {
            (name, partition): dict.fromkeys(replicas, 1000)
            for name in topics
            if name in self.topics
            for partition, replicas in enumerate(self.topics[name].replicas)
        }

    def elect(self, partitions: Collection[PartitionKey]) -> None:
        self._reach()
        for name, partition in partitions:
            state = self.topics[name]
            if state.replicas[partition][0] in state.in_sync[partition]:
                self._lead(name, partition, state.replicas[partition][0])

    def throttle(self, throttle: Throttle) -> None:
        self._reach()
        self.rates = {broker.id: throttle.bytes_per_second for broker in self.cluster()}
        for name in {topic for topic, _ in throttle.targets}:
            for config, of in zip(THROTTLED, (throttle.sources, throttle.targets), strict=True):
                shown = ",".join(f"{p}:{b}" for (topic, p), on in sorted(of.items()) if topic == name for b in on)
                state = self.topics[name]
                self.topics[name] = replace(state, configs={**state.configs, config: shown})

    def unthrottle(self, topics: Collection[str]) -> None:
        self._reach()
        for name in topics:
            state = self.topics[name]
            configs = {key: value for key, value in state.configs.items() if key not in THROTTLED}
            self.topics[name] = replace(state, configs=configs)
        if topics:
            self.rates = {}

    def delete(self, topics: Collection[str]) -> None:
        self._reach()
        for name in topics:
            self.forget(name)

    def forget(self, topic: str) -> None:
        """Lose a topic, as if somebody had deleted it."""
        self.topics.pop(topic, None)
        self._moves = {key: move for key, move in self._moves.items() if key[0] != topic}

    def fail(self, broker: int) -> None:
        """Take a broker down: others lead, and its replicas are out of sync."""
        self.down.add(broker)
        for name, state in self.topics.items():
            for partition, in_sync in enumerate(state.in_sync):
                left = set(in_sync) - {broker}
                if left and broker in in_sync:
                    self._place((name, partition), state.replicas[partition], left)
                if left and state.leaders[partition] == broker:
                    self._lead(name, partition, min(left))

    def recover(self, broker: int) -> None:
        """Bring a broker back, and its replicas in sync. Leaders stay where they are."""
        self.down.discard(broker)
        for name, state in self.topics.items():
            for partition, replicas in enumerate(state.replicas):
                if broker in replicas:
                    self._place((name, partition), replicas, {*state.in_sync[partition], broker})

    def _begin(self, key: PartitionKey, target: tuple[int, ...]) -> None:
        state = self.topics[key[0]]
        already = self._moves.get(key)
        before = already.before if already else state.replicas[key[1]]
        if set(before) == set(target) and already is None:
            self._place(key, target, set(state.in_sync[key[1]]))
            return
        self._moves[key] = _Move(before, target, self.polls_per_move)
        both = (*target, *(broker for broker in before if broker not in target))
        self._place(key, both, set(state.in_sync[key[1]]))

    def _turn_back(self, key: PartitionKey) -> None:
        under_way = self._moves.pop(key, None)
        if under_way is not None:
            self._place(key, under_way.before, set(self.topics[key[0]].in_sync[key[1]]) & set(under_way.before))

    def _place(self, key: PartitionKey, replicas: tuple[int, ...], in_sync: set[int]) -> None:
        name, partition = key
        state = self.topics[name]
        self.topics[name] = replace(
            state,
            replicas=_with(state.replicas, partition, replicas),
            in_sync=_with(state.in_sync, partition, tuple(sorted(in_sync))),
        )
        if state.leaders[partition] not in in_sync:
            self._lead(name, partition, next(broker for broker in replicas if broker in in_sync))

    def _lead(self, name: str, partition: int, broker: int) -> None:
        state = self.topics[name]
        leaders = (*state.leaders[:partition], broker, *state.leaders[partition + 1 :])
        self.topics[name] = replace(state, leaders=leaders)

    def _reach(self) -> None:
        if not self.reachable:
            raise UnreachableError("No Kafka broker could be reached.", fix="start the stack.")


def _with(of: tuple[tuple[int, ...], ...], at: int, value: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    return (*of[:at], value, *of[at + 1 :])
