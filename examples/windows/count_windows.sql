CREATE OR REPLACE TEMP VIEW pairs AS
SELECT origin, window, count(*) AS flights, avg(delay) AS delay
FROM flights
GROUP BY origin, transom_count(2, time => departed, delay => '10 minutes');
