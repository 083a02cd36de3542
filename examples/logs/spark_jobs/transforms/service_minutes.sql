SELECT
  window.start AS minute,
  service,
  count(*) AS requests,
  count_if(status >= 500) AS errors,
  1000 * count_if(status >= 500) DIV count(*) AS error_permille,
  sum(ms) DIV count(*) AS ms_mean,
  max(ms) AS ms_max
FROM access_log
GROUP BY window(at, '1 minute'), service
