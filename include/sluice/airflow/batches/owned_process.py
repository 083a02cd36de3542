"""The batch main as a process of a task's own, without spark-submit: its session is in the warm engine."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence

from sluice.launch.processes import die_with_parent, lower_priority


class OwnedProcess:
    """A process that ends with the task's, whose output the task reads.

    Args:
        argv: what is run.
        environment: all variables that it has.
        niceness: how far it gives way.
    """

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], niceness: int) -> None:
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            encoding="utf-8",
            errors="replace",
            preexec_fn=before_the_program(niceness),  # noqa: PLW1509 - it calls the kernel, and nothing that may lock
        )

    def lines(self) -> Iterator[str]:
        """Yield what it says, line by line, until it ends."""
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        for line in self._process.stdout:
            yield line.rstrip("\n")

    def wait(self) -> int:
        """Return its exit code, negative after a signal."""
        return self._process.wait()

    def kill(self) -> None:
        """End it, with all that it has started."""
        os.killpg(self._process.pid, signal.SIGKILL)


def before_the_program(niceness: int) -> Callable[[], None]:
    """Return what the child runs first: under spark-submit the JVM is there before the main is asked."""
    bind_to_task = die_with_parent()

    def prepare() -> None:
        os.setsid()  # its own, which gives way as a whole
        lower_priority(niceness)
        if bind_to_task is not None:
            bind_to_task()

    return prepare
