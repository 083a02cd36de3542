"""Whatever is declared, drifts and dies in whatever order: the next plan leads to what is declared, and to no more.

One machine for the twin and for a real cluster of four brokers in racks.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, cast

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sluice.clock import Clock, SystemClock
from sluice.errors import RefusedError, UnreachableError
from sluice.launch.processes import wait_until
from sluice.provisioning.apply import apply, current_plan
from sluice.provisioning.execution import ApplyOptions
from sluice.provisioning.plans.approval import Approval
from sluice.provisioning.plans.declared import Declared
from sluice.provisioning.replicas.moving import MoveOptions
from sluice.specs.model.topic_shape import TopicShape
from sluice.topics.administration import KafkaAdministration, TopicCreation, TopicState
from sluice.topics.replica_administration import THROTTLED

DOMAINS = ("fault", "update")
RACKS = {1: "0/0", 2: "1/1", 3: "2/2", 4: "0/1"}
NAMES = st.sampled_from(["a", "b", "c"])
SHAPES = st.builds(
    lambda partitions, replication, placement: TopicShape.model_validate(
        {"partitions": partitions, "replication": replication, "placement": placement}
    ),
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from(["any", "balanced-leaders", {"failure-domains": list(DOMAINS)}]),
)
_NUMBERS = itertools.count()


class CutError(Exception):
    """The process is gone."""


class Mortal:
    """An administration that dies before one of its calls, counted from 0."""

    def __init__(self, administration: KafkaAdministration, calls: int) -> None:
        self._administration, self._left = administration, calls

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever the administration takes
            if not self._left:
                raise CutError
            self._left -= 1
            return getattr(self._administration, name)(*arguments, **named)

        return call


class PlanMachine(RuleBasedStateMachine):
    """A team that declares, somebody else who changes the cluster, and a process that may die."""

    def cluster(self) -> KafkaAdministration:
        """Return the cluster; topics of other machines may be there."""
        raise NotImplementedError

    def clock(self) -> Clock:
        """Return what applies wait by."""
        raise NotImplementedError

    def deaths(self) -> None:
        """Take notice of an apply that died before its end."""

    @initialize()
    def begin(self) -> None:
        self.prefix = f"machine_{next(_NUMBERS)}_"
        self.kafka = self.cluster()
        self.wanted: dict[str, TopicShape] = {}
        self.absent: set[str] = set()
        self.kept: dict[str, str] = {}
        self.foreign = f"{self.prefix}foreign"
        self.kafka.create([TopicCreation(self.foreign, 2, 1, {"retention.ms": "5000"})])
        wait_until(self.foreign_is_known, SystemClock(), deadline_seconds=120)

    def foreign_is_known(self) -> bool:
        """Whether it is described several times in a row: each broker answers for a topic at a moment of its own."""
        try:
            return all(self.state(self.foreign) is not None for _ in range(10))
        except UnreachableError:  # it is listed, and its configuration is not known yet
            return False

    def declared(self) -> Declared:
        return Declared(self.wanted, absent=frozenset(self.absent), domains=DOMAINS)

    def state(self, name: str) -> TopicState | None:
        return self.kafka.describe([name]).get(name)

    def options(self) -> ApplyOptions:
        return ApplyOptions(MoveOptions(clock=self.clock()))

    @rule(name=NAMES, shape=SHAPES)
    def declare(self, name: str, shape: TopicShape) -> None:
        """Say what a topic shall be; what has partitions keeps them."""
        name = self.prefix + name
        state = self.state(name)
        fewest = max(shape.partitions, state.partitions if state else 1)
        self.wanted[name] = shape.model_copy(update={"partitions": fewest})
        self.absent.discard(name)

    @precondition(lambda self: self.wanted)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.wanted)))
        del self.wanted[name]
        self.absent.add(name)

    @rule(name=NAMES, size=st.sampled_from(["1000000", "2000000"]))
    def somebody_sets_what_no_spec_names(self, name: str, size: str) -> None:
        name = self.prefix + name
        if self.state(name) is not None and name in self.wanted:
            self.kafka.set_configs(name, {"max.message.bytes": size})
            self.kept[name] = size

    @rule(name=NAMES)
    def somebody_cuts_a_retention(self, name: str) -> None:
        if self.state(self.prefix + name) is not None:
            self.kafka.set_configs(self.prefix + name, {"retention.ms": "86400000"})

    @rule(name=NAMES)
    def somebody_moves_a_replica(self, name: str) -> None:
        name = self.prefix + name
        state = self.state(name)
        if state is None:
            return
        others = [broker for broker in RACKS if broker not in state.replicas[0]]
        target = (*state.replicas[0][1:], others[0])
        self.kafka.reassign({(name, 0): target})
        assert wait_until(lambda: (name, 0) not in self.kafka.moving(), self.clock(), deadline_seconds=120)

    @rule(name=NAMES)
    def somebody_grows_a_topic_and_that_is_declared(self, name: str) -> None:
        name = self.prefix + name
        state = self.state(name)
        if state is None or name not in self.wanted:
            return
        self.kafka.grow(name, state.partitions + 1)
        more = max(self.wanted[name].partitions, state.partitions + 1)
        self.wanted[name] = self.wanted[name].model_copy(update={"partitions": more})

    @rule(calls=st.integers(0, 60))
    def an_apply_dies(self, calls: int) -> None:
        todo = current_plan(self.declared(), self.kafka)
        approval = Approval(todo.id, frozenset(todo.losing))
        mortal = cast("KafkaAdministration", Mortal(self.kafka, calls))
        try:
            apply(self.declared(), mortal, approval=approval, options=self.options())
        except CutError:
            self.deaths()
        except RefusedError:
            pass
        self.forget_what_is_gone()

    @rule()
    def apply_all(self) -> None:
        todo = current_plan(self.declared(), self.kafka)
        assert not todo.refused
        apply(self.declared(), self.kafka, approval=Approval(todo.id, frozenset(todo.losing)), options=self.options())
        assert not current_plan(self.declared(), self.kafka).differences
        self.forget_what_is_gone()
        there = self.kafka.describe([*self.wanted, *self.absent])
        assert set(there) == set(self.wanted)
        for name, state in there.items():
            assert state.partitions == self.wanted[name].partitions
            assert {len(replicas) for replicas in state.replicas} == {self.wanted[name].replication}
            assert state.configs.get("max.message.bytes") == self.kept.get(name)
            assert not set(THROTTLED) & state.configs.keys()

    def forget_what_is_gone(self) -> None:
        there = self.kafka.describe(self.kept)
        self.kept = {name: size for name, size in self.kept.items() if name in there}

    @invariant()
    def what_is_nobodys_stays(self) -> None:
        if hasattr(self, "foreign"):
            state = self.state(self.foreign)
            assert state is not None
            assert (state.partitions, state.configs) == (2, {"retention.ms": "5000"})

    def teardown(self) -> None:
        if hasattr(self, "foreign"):
            self.apply_all()
            self.kafka.delete([*self.wanted, self.foreign])
