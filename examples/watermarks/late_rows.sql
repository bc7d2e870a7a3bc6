CREATE OR REPLACE TEMP VIEW hours AS
SELECT * FROM transom_side_outputs(
    TABLE(
        SELECT origin, window, count(*) AS flights
        FROM flights
        GROUP BY origin, transom_tumbling(departed, '1 hour', delay => '10 minutes', drain => true)),
    late_rows => 'late');
