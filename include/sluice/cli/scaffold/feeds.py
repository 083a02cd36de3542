"""The first spec of a feed that sends a file of records. Pure."""

from __future__ import annotations

from sluice.specs.model.feeds import FeedSpec

FOLDER = "data"
"""The folder in `include/` for data; the folders of specs hold only specs."""


def feed_files(spec: FeedSpec, lines: list[bytes]) -> dict[str, str | bytes]:
    """Return the spec and the copy of the records, by path in the project.

    Args:
        spec: the feed; its `path` says where the copy goes.
        lines: the records, one JSON object each.
    """
    text = f"""name: {spec.name}
description: Where these records come from, in one sentence.
topic: {spec.topic}
source: file
path: {spec.path}      # one JSON object per line, below include/; do not change lines that were sent
"""
    if spec.key:
        text += f"key: {spec.key}                # the field whose value is the record's key\n"
    if spec.arrival_time:
        text += f"arrival_time: {spec.arrival_time}       # the order of the records, and their pace with --speed\n"
    return {f"include/feeds/{spec.name}.yaml": text, f"include/{spec.path}": b"\n".join(lines) + b"\n"}
