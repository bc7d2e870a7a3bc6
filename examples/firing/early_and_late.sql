CREATE OR REPLACE TEMP VIEW hours AS
SELECT origin, window, pane, count(*) AS flights, max(delay) AS worst
FROM flights
GROUP BY origin, transom_tumbling(departed, '1 hour', delay => '10 minutes',
    trigger => transom_after_watermark(
        early => transom_after_count(2), late => transom_after_count(1)),
    allowed_lateness => '6 hours',
    with_pane => true);
