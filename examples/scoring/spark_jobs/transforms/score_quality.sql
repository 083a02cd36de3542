SELECT
  window.start AS hour,
  count(*) AS readings,
  count_if(breaks) AS positives,
  count_if(score > 0.5) AS predicted,
  count_if(score > 0.5 AND breaks) AS right,
  1000 * count_if(score > 0.5 AND breaks) DIV nullif(count_if(score > 0.5), 0) AS precision_permille,
  1000 * count_if(score > 0.5 AND breaks) DIV nullif(count_if(breaks), 0) AS recall_permille
FROM scored
JOIN labelled ON labelled.reading = scored.reading AND labelled.measured_at = scored.measured_at
GROUP BY window(scored.measured_at, '1 hour')
