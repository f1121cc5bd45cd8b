{{ config(
    materialized='incremental',
    incremental_strategy='merge',
    unique_key=['day', 'carrier', 'flight', 'origin'],
) }}
-- One row per flight. A run reads the last day once more: what was corrected there is merged.
SELECT day, carrier, flight, origin, dest, delay, departed
FROM {{ ref('departures') }}
{% if is_incremental() %}
WHERE day >= (SELECT max(day) FROM {{ this }})
{% endif %}
