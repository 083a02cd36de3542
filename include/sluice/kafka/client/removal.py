"""Removes topics that a program has made for itself. No plan of topics ever does that."""

from __future__ import annotations

from collections.abc import Sequence

from sluice.errors import RefusedError
from sluice.kafka.client.session import AdminSession


class OwnTopics(AdminSession):
    """The topics of a cluster whose names begin with a prefix that declared topics do not have.

    Attributes:
        prefix: that every removed topic must have; set before the first removal.
    """

    prefix = ""

    def remove(self, names: Sequence[str]) -> None:
        """Remove those of the topics that exist.

        Raises:
            RefusedError: a name lacks the prefix; nothing was removed.
            UnreachableError: no broker answered, or we may not.
        """
        if strange := [name for name in names if not self.prefix or not name.startswith(self.prefix)]:
            raise RefusedError(f"{strange[0]} is no topic that may be removed.", fix=f"only {self.prefix}… may be.")
        there = set(self._ask("list the topics", lambda client: client.list_topics()))
        wanted = [name for name in names if name in there]
        if wanted:
            self._ask(f"remove {', '.join(wanted)}", lambda client: client.delete_topics(wanted))
