CREATE OR REPLACE TEMP VIEW in_the_air AS
SELECT window, count(*) AS planes, array_sort(collect_list(tail)) AS tails
FROM flights
GROUP BY transom_snapshot(departed, transom_lifetime(duration => '2 hours'),
    delay => '10 minutes', drain => true);
