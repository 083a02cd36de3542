WITH samples AS (SELECT DISTINCT tower, users, mbit, sampled_at FROM tower_samples)
SELECT
  window.start AS began_at,
  tower,
  any_value(region) AS region,
  count(*) AS samples,
  max(users) AS users_max,
  (1000 * sum(mbit)) DIV (count(*) * any_value(capacity_mbit)) AS load_permille
FROM samples
JOIN towers USING (tower)
GROUP BY window(sampled_at, '5 minutes', '1 minute'), tower
