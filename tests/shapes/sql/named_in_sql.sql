-- Name the airlines of the flights of each hour.
SELECT window(f.scheduled_at, '1 hour').start AS at, f.carrier, max(a.name) AS airline, count(*) AS flights
FROM flights AS f LEFT JOIN airlines AS a ON f.carrier = a.carrier
GROUP BY window(f.scheduled_at, '1 hour'), f.carrier
