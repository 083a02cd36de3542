-- Count the records of both topics, hour by hour.
SELECT window.start AS at, kind, count(*) AS n
FROM (
  SELECT 'flight' AS kind, scheduled_at AS time FROM flights
  UNION ALL
  SELECT 'measurement' AS kind, measured_at AS time FROM weather
)
GROUP BY window(time, '1 hour'), kind
