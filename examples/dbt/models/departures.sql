{{ config(materialized='view') }}
SELECT make_date(year, month, day) AS day, carrier, CAST(flight AS INT) AS flight, origin, dest,
  CAST(dep_delay AS INT) AS delay, dep_delay IS NOT NULL AS departed
FROM parquet.`{{ var('source') }}`
WHERE month = 1 AND day <= {{ var('until') }}
