"""The first spec of a feed that sends a file of records. Pure."""

from __future__ import annotations

from sluice.cli.scaffold.project import filled
from sluice.specs.feeds.feed import FeedSpec

FOLDER = "data"
"""The folder in `include/` for data; the folders of specs hold only specs."""


def feed_files(spec: FeedSpec, lines: list[bytes]) -> dict[str, str | bytes]:
    """Return the spec, and the copy of its records (JSON objects), by path in the project."""
    text = filled("feed.yaml", spec=spec)
    return {f"include/feeds/{spec.name}.yaml": text, f"include/{spec.path}": b"\n".join(lines) + b"\n"}
