{{ config(materialized='table', unique_key='carrier') }}
SELECT carrier, first(name) AS name, count(*) AS flights, max(delay) AS longest_delay
FROM {{ ref('flights') }} JOIN {{ ref('airlines') }} USING (carrier)
GROUP BY carrier
