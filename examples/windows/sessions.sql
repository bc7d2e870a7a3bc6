CREATE OR REPLACE TEMP VIEW busy AS
SELECT tail, window, count(*) AS flights, count(DISTINCT origin) AS airports
FROM flights
GROUP BY tail, transom_session(departed, '6 hours', delay => '10 minutes', drain => true);
