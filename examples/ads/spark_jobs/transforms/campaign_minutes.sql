WITH shown AS (SELECT DISTINCT impression, campaign, shown_at FROM impressions),
clicked AS (SELECT DISTINCT click, impression, clicked_at FROM clicks)
SELECT
  window.start AS minute,
  shown.campaign,
  any_value(campaigns.name) AS name,
  count(DISTINCT shown.impression) AS impressions,
  count(DISTINCT clicked.impression) AS clicked,
  count(clicked.click) AS clicks,
  count(clicked.click) * any_value(campaigns.cents_per_click) AS spent_cents
FROM shown
LEFT JOIN clicked
  ON clicked.impression = shown.impression
  AND clicked.clicked_at BETWEEN shown.shown_at AND shown.shown_at + INTERVAL 1 HOUR
LEFT JOIN campaigns ON campaigns.campaign = shown.campaign
GROUP BY window(shown.shown_at, '1 minute'), shown.campaign
