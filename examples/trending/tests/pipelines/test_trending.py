"""The hashtags of a few posts, with the functions of the stream."""

import json

from sluice.interactive.trial import trial


def post(post: str, author: str, minute: int, *tags: str) -> str:
    at = f"2026-01-05T12:{minute:02}:00Z"
    return json.dumps({"post": post, "author": author, "lang": "en", "tags": tags, "posted_at": at, "seen_at": at})


POSTS = [
    post("1", "ann", 1, "Rain", "rain"),
    post("1", "ann", 1, "Rain", "rain"),
    post("2", "ben", 6, "rain"),
    post("3", "ben", 7, "rain", "tea"),
    post("4", "spam0", 7, "rain"),
]


def test_a_hashtag_counts_each_post_and_each_author_once_and_no_blocked_account() -> None:
    rows = trial("tag_counts", "\n".join(POSTS).encode()).rows
    found = {(row["began_at"], row["tag"]): (row["posts"], row["authors"]) for row in rows}
    assert found["2026-01-05T12:00:00Z", "rain"] == (3, 2)
    assert found["2026-01-05T12:05:00Z", "rain"] == (2, 1)
    assert found["2026-01-05T12:00:00Z", "tea"] == (1, 1)
