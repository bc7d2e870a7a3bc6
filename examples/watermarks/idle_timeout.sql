CREATE OR REPLACE TEMP VIEW hours AS
SELECT origin, window, count(*) AS flights
FROM flights
GROUP BY origin, transom_tumbling(departed, '1 hour',
    policy => transom_time_policy(out_of_order => '1 day'), idle_timeout => '3 seconds');
