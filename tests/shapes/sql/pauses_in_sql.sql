-- Give each flight the minutes to the one before at its airport, and to the next, if they are within six hours.
WITH beside AS (
  SELECT
    scheduled_at,
    flight_id,
    timestampdiff(MINUTE, lag(scheduled_at) OVER airport, scheduled_at) AS since,
    timestampdiff(MINUTE, scheduled_at, lead(scheduled_at) OVER airport) AS until
  FROM flights
  WINDOW airport AS (PARTITION BY origin ORDER BY scheduled_at, flight_id)
)
SELECT
  scheduled_at AS at,
  flight_id,
  CASE WHEN since <= 360 THEN since END AS before,
  CASE WHEN until <= 360 THEN until END AS after
FROM beside
