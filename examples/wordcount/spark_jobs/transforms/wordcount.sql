SELECT window.start AS hour, word, count(*) AS times
FROM (SELECT said_at, explode(split(lower(sentence), ' ')) AS word FROM sentences)
GROUP BY window(said_at, '1 hour'), word
