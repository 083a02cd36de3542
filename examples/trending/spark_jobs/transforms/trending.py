"""Posts and authors per hashtag."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it


def tag_counts(posts: DataFrame, *, blocked: DataFrame) -> DataFrame:
    """Count the posts and authors of each hashtag in sliding windows, by language.

    A post that was sent twice counts once, and an account that is blocked not at all.
    """
    tags = F.array_distinct(F.transform("tags", F.lower))
    return (
        posts.dropDuplicates(["post", "posted_at"])
        .join(F.broadcast(blocked), "author", "left_anti")
        .select("posted_at", "author", "lang", F.explode(tags).alias("tag"))
        .groupBy(F.window("posted_at", "15 minutes", "5 minutes"), "lang", "tag")
        .agg(F.count("*").alias("posts"), F.size(F.collect_set("author")).alias("authors"))
        .select(F.col("window.start").alias("began_at"), "lang", "tag", "posts", "authors")
    )
