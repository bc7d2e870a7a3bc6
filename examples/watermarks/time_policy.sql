CREATE OR REPLACE TEMP VIEW hours AS
SELECT * FROM transom_side_outputs(
    TABLE(
        SELECT origin, window, count(*) AS flights
        FROM flights
        GROUP BY origin, transom_tumbling(departed, '1 hour', drain => true,
            policy => transom_time_policy(out_of_order => transom_drop('1 hour')))),
    dead_letters => true);

CREATE OR REPLACE TEMP VIEW stamped AS
SELECT * FROM transom_stamped(
    TABLE(flights),
    policy => transom_time_policy(departed, out_of_order => transom_drop('1 hour')));
