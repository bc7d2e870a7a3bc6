CREATE OR REPLACE TEMP VIEW days AS
SELECT window, count(*) AS flights, avg(delay) AS delay
FROM flights
GROUP BY transom_calendar(departed, 'day', time_zone => 'America/New_York',
    delay => '10 minutes', drain => true);
