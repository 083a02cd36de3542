SELECT window.start AS minute, campaign, count(*) AS impressions
FROM impressions
GROUP BY window(shown_at, '1 minute'), campaign
