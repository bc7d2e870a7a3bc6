CREATE OR REPLACE TEMP VIEW hours AS
SELECT origin, window, change, count(*) AS flights
FROM flights
GROUP BY origin, transom_tumbling(departed, '1 hour', delay => '10 minutes',
    allowed_lateness => '6 hours', retract => true);
