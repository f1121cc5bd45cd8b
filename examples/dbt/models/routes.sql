{{ config(
    materialized='incremental',
    incremental_strategy='append',
    unique_key=['origin', 'dest'],
    tblproperties={
      'merge-engine': 'aggregation',
      'fields.flights.aggregate-function': 'sum',
      'fields.last_day.aggregate-function': 'max',
    },
) }}
SELECT origin, dest, count(*) AS flights, max(day) AS last_day
FROM {{ ref('flights') }}
{% if is_incremental() %}
WHERE day > (SELECT max(last_day) FROM {{ this }})
{% endif %}
GROUP BY origin, dest
