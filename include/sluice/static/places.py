"""Where static inputs are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sluice.settings import connection_url
from sluice.storage.folder import Folder


@dataclass(frozen=True)
class StaticPlaces:
    """Where static inputs are.

    Attributes:
        include: the project's folder of specs and files.
        table: returns the folder of a table of the project.
        connection: returns the URL of a database by the connection's name.
    """

    include: Path
    table: Callable[[str], Folder]
    connection: Callable[[str], str] = connection_url
