-- Give each flight the wind that was known before, and leave out those of which it is not known.
SELECT f.scheduled_at AS at, f.flight_id, w.wind
FROM flights AS f
JOIN weather AS w
  ON f.origin = w.origin
  AND w.measured_at <= f.scheduled_at - INTERVAL 30 MINUTES
  AND w.measured_at > f.scheduled_at - INTERVAL 90 MINUTES
