-- Flights and the longest delay of each airport and hour.
{{ config(materialized='view') }}

select origin, window.start as hour, count(*) as flights, max(delay) as delay
from {{ ref('flights') }}
group by origin, transom_tumbling(departed, '1 hour')
