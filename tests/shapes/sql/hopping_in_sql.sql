-- Count flights in windows that overlap, by their start.
SELECT window.start AS at, origin, count(*) AS flights
FROM flights
GROUP BY window(scheduled_at, '1 hour', '20 minutes'), origin
