CREATE OR REPLACE TEMP VIEW hours AS
SELECT origin, window, count(*) AS flights, max(delay) AS worst
FROM flights
GROUP BY origin, transom_hopping(departed, '1 hour', '30 minutes', delay => '10 minutes');
