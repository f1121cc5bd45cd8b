{{ config(
    materialized='incremental',
    incremental_strategy='insert_overwrite',
    partition_by='day',
    unique_key=['day', 'origin'],
) }}
-- Days that are read again replace their partitions.
SELECT origin, count(*) AS flights, count_if(NOT departed) AS cancelled, day
FROM {{ ref('flights') }}
{% if is_incremental() %}
WHERE day >= (SELECT max(day) FROM {{ this }})
{% endif %}
GROUP BY origin, day
