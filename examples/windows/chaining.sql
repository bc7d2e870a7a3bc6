CREATE OR REPLACE TEMP VIEW days AS
WITH hours AS (
    SELECT origin, window AS hour, count(*) AS flights, sum(delay) AS delay
    FROM flights
    GROUP BY origin, transom_tumbling(departed, '1 hour', delay => '10 minutes', drain => true)
), busiest AS (
    SELECT window AS hour, max_by(origin, flights) AS origin, sum(delay) AS delay
    FROM hours
    GROUP BY transom_tumbling(hour, '1 hour')
)
SELECT window, count(*) AS busy_hours, sum(delay) AS delay
FROM busiest
GROUP BY transom_calendar(hour, 'day', time_zone => 'America/New_York');
