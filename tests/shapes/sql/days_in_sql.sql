SELECT window.start AS at, origin, sum(flights) AS flights
FROM hours
GROUP BY window(at, '1 day'), origin
