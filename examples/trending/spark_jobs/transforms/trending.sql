WITH ranked AS (
  SELECT *, row_number() OVER (PARTITION BY began_at, lang ORDER BY authors DESC, posts DESC, tag) AS place
  FROM tag_counts
)
SELECT
  new.began_at,
  new.lang,
  new.place,
  new.tag,
  new.posts,
  new.authors,
  new.authors - coalesce(old.authors, 0) AS change,
  old.place AS place_before
FROM ranked AS new
LEFT JOIN ranked AS old
  ON old.lang = new.lang AND old.tag = new.tag AND old.began_at = new.began_at - INTERVAL 15 MINUTES
WHERE new.place <= 20
