-- Count flights of a carrier at an airport that follow each other within 20 minutes.
SELECT session_window.end AS at, session_window.start AS since, origin, carrier, count(*) AS flights
FROM flights
GROUP BY session_window(scheduled_at, '20 minutes'), origin, carrier
