"""A feed's first spec, over a file of records. Pure."""

from __future__ import annotations

from sluice.specs.model.feeds import FeedSpec

FOLDER = "data"
"""Below `include/`: the folders of specs hold specs and nothing else."""


def feed_files(spec: FeedSpec, lines: list[bytes]) -> dict[str, bytes]:
    """Return the spec and the copy of the records, by their paths in the project.

    Args:
        spec: the feed; its `path` says where the copy goes.
        lines: of the file.
    """
    text = f"""name: {spec.name}
description: Where these records come from, in one sentence.
topic: {spec.topic}
source: file
path: {spec.path}      # one JSON object per line, below include/; a line that was sent is not changed any more
"""
    if spec.key:
        text += f"key: {spec.key}                # the field whose value is the record's key\n"
    if spec.arrival_time:
        text += f"arrival_time: {spec.arrival_time}       # in this order, and at this pace if you ask for one\n"
    return {
        f"include/feeds/{spec.name}.yaml": text.encode(),
        f"include/{spec.path}": b"\n".join(lines) + b"\n",
    }
