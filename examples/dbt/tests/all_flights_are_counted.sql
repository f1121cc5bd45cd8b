-- A row is a failure: an airport whose routes count other flights than its days.
SELECT origin, r.flights AS of_routes, d.flights AS of_days
FROM (SELECT origin, sum(flights) AS flights FROM {{ ref('routes') }} GROUP BY origin) AS r
JOIN (SELECT origin, sum(flights) AS flights FROM {{ ref('days') }} GROUP BY origin) AS d USING (origin)
WHERE r.flights <> d.flights
