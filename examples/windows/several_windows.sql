CREATE OR REPLACE TEMP VIEW counts AS
SELECT window, window_id, count(*) AS flights, max(delay) AS worst
FROM flights
GROUP BY transom_windows(
    departed,
    map('hour', transom_tumbling('1 hour'),
        'day', transom_calendar('day', time_zone => 'America/New_York')),
    delay => '10 minutes',
    drain => true);
