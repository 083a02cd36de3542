"""Whether a batch's process gets processor time on this machine, as an observer sees it."""

from __future__ import annotations

import socket

from sluice.intervals.backfill.progress import starvation_in_words
from sluice.launch.backfill_lock import Holder
from sluice.launch.cpu import TreeCpu
from sluice.launch.keeper import start_ticks


def starvation_of(tree: TreeCpu, *, claimed: bool) -> str:
    """Return what to say of a batch that gets next to no processor time; empty for one that does, or is young.

    Args:
        tree: of its process.
        claimed: it works on its range. If it has no JVM then, the warm engine does its work, and nothing is said.
    """
    got = tree.seconds()
    if claimed and tree.alone:
        return ""
    return starvation_in_words(got, tree.age(), tree.niceness())


def holders_starvation(holder: Holder | None) -> str:
    """Return the same of the process that holds a backfill's lock; empty for one of another machine, and for none."""
    if holder is None or holder.host != socket.gethostname() or start_ticks(holder.pid) != holder.ticks:
        return ""
    tree = TreeCpu.of_living(holder.pid)
    return "" if tree is None else starvation_of(tree, claimed=True)
