-- Rank the three carriers with most flights of each hour.
WITH counted AS (
  SELECT window(scheduled_at, '1 hour') AS hour, carrier, count(*) AS flights
  FROM flights
  GROUP BY 1, carrier
), ranked AS (
  SELECT *, row_number() OVER (PARTITION BY hour ORDER BY flights DESC, carrier) AS rank
  FROM counted
)
SELECT hour.start AS at, rank, carrier, flights
FROM ranked
WHERE rank <= 3
