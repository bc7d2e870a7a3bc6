-- Flights of each aircraft. A trip ends when the aircraft has not departed for 4 hours.
{{ config(materialized='table', file_format='parquet') }}

select tail, min(departed) as first, max(departed) as last, count(*) as flights
from {{ ref('flights') }}
group by tail, transom_session(departed, '4 hours')
