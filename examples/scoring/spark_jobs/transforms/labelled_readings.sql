WITH measured AS (
  SELECT DISTINCT reading, machine, temperature, vibration, pressure, measured_at FROM readings
)
SELECT
  measured.reading,
  measured.machine,
  measured.temperature,
  measured.vibration,
  measured.pressure,
  measured.measured_at,
  count(breakdowns.breakdown) > 0 AS breaks
FROM measured
LEFT JOIN breakdowns
  ON breakdowns.machine = measured.machine
  AND breakdowns.broke_at > measured.measured_at
  AND breakdowns.broke_at <= measured.measured_at + INTERVAL 1 HOUR
GROUP BY ALL
