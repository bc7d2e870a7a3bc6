CREATE OR REPLACE TEMP VIEW days AS
SELECT origin, window, count(*) AS flights, avg(delay) AS delay
FROM flights
GROUP BY origin, transom_calendar(departed, 'day', time_zone => 'America/New_York',
    delay => '10 minutes', evictor => transom_keep_last(2), drain => true);
