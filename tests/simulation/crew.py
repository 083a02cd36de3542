"""Actors that take turns: each runs real code in a thread of its own, and only the one that has the baton moves.

An actor stands still wherever its code calls `Crew.stand` (before and after a call on a port), and there, in its own
thread, asks the director who goes on. So a step costs a switch of threads only if somebody else goes on, and the code
under test is neither rewritten nor run again: a history of some sixty port calls takes a millisecond or two. Generators
would need another text of the code, nested calls reach only some of the interleavings, and running an actor again from
its start with recorded answers costs the square of its calls.

Histories are deterministic all the same: whoever has the baton is the only one that runs.
"""

from __future__ import annotations

from _thread import LockType, allocate_lock
from collections.abc import Callable
from threading import Thread
from typing import Self


class Crashed(BaseException):
    """The actor's process is gone. No `Exception`: nothing in the code under test may catch it."""


class Actor:
    """Somebody who carries out one operation.

    Attributes:
        name: for people.
        at: the call before or after which it stands; empty before its first and after its end.
        crashing: it dies as soon as it goes on.
        ended: it moves no more.
    """

    def __init__(self, name: str, operation: Callable[[], object]) -> None:
        self.name = name
        self.operation = operation
        self.at = ""
        self.crashing = False
        self.ended = False
        self.baton: LockType | None = None


class Crew:
    """Hands the baton from actor to actor. A context manager: its threads end with the block."""

    def __init__(self) -> None:
        self._free: list[_Worker] = []
        self._workers: list[_Worker] = []
        self._main = _locked()
        self._direct: Callable[[], Actor | None] = lambda: None
        self._fault: BaseException | None = None
        self.current: Actor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.actor = None
            worker.baton.release()

    def play(self, direct: Callable[[], Actor | None]) -> None:
        """Let actors move until nobody is named. What an actor or the director raises, is raised here.

        Args:
            direct: names who goes on, or None to end the play; called by whoever has the baton.
        """
        self._direct, self._fault = direct, None
        self._pass_on()
        self._main.acquire()
        self.current = None
        if self._fault is not None:
            raise self._fault

    def stand(self, at: str) -> None:
        """Stand still in an actor's code until it is told to go on, or to die."""
        me = self.current
        assert me is not None
        assert me.baton is not None
        if me.crashing:
            raise Crashed  # a dying process carries out nothing more
        me.at = at
        if self._choose() is not me:
            self._hand_over()
            me.baton.acquire()
        if me.crashing:
            raise Crashed

    def fail(self, fault: BaseException) -> None:
        """End the play with an error."""
        if self._fault is None:
            self._fault = fault

    def finished(self, worker: _Worker) -> None:
        """Take a worker back and pass the baton on."""
        self._free.append(worker)
        self._pass_on()

    def _pass_on(self) -> None:
        self._choose()
        self._hand_over()

    def _choose(self) -> Actor | None:
        chosen = None
        if self._fault is None:
            try:
                chosen = self._direct()
            except BaseException as fault:  # noqa: BLE001 - raised by `play`, in the thread that began it
                self.fail(fault)
        self.current = chosen
        return chosen

    def _hand_over(self) -> None:
        actor = self.current
        if actor is None:
            self._main.release()
            return
        if actor.baton is None:
            worker = self._free.pop() if self._free else self._hire()
            worker.actor, actor.baton = actor, worker.baton
        actor.baton.release()

    def _hire(self) -> _Worker:
        worker = _Worker(self)
        self._workers.append(worker)
        worker.start()
        return worker


class _Worker(Thread):
    """A thread that carries out one operation after another."""

    def __init__(self, crew: Crew) -> None:
        super().__init__(daemon=True)
        self.baton = _locked()
        self.actor: Actor | None = None
        self._crew = crew

    def run(self) -> None:
        while True:
            self.baton.acquire()
            actor = self.actor
            if actor is None:
                return
            try:
                if not actor.crashing:
                    actor.operation()
            except Crashed:
                pass
            except BaseException as fault:  # noqa: BLE001 - raised by `Crew.play`
                self._crew.fail(fault)
            actor.ended, actor.at = True, ""
            self._crew.finished(self)


def _locked() -> LockType:
    lock = allocate_lock()
    lock.acquire()
    return lock
