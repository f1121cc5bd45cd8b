-- January and February, folded as the demo folds them.
INSERT INTO keyfold.demo.carrier_days SELECT carrier, day, 1L AS flights, CAST(departure IS NULL AS BIGINT) AS cancelled,
       CAST(coalesce(delay >= 15, false) AS BIGINT) AS delayed,
       IF(departure IS NULL, 0L, distance) AS miles, delay AS worst_delay,
       departure AS first_departure, departure AS last_departure,
       IF(departure IS NULL, NULL, flight) AS last_flight, tailnum AS last_aircraft
FROM flights WHERE month = 1 AND origin = 'EWR';
INSERT INTO keyfold.demo.carrier_days SELECT carrier, day, 1L AS flights, CAST(departure IS NULL AS BIGINT) AS cancelled,
       CAST(coalesce(delay >= 15, false) AS BIGINT) AS delayed,
       IF(departure IS NULL, 0L, distance) AS miles, delay AS worst_delay,
       departure AS first_departure, departure AS last_departure,
       IF(departure IS NULL, NULL, flight) AS last_flight, tailnum AS last_aircraft
FROM flights WHERE month = 1 AND origin = 'JFK';
INSERT INTO keyfold.demo.carrier_days SELECT carrier, day, 1L AS flights, CAST(departure IS NULL AS BIGINT) AS cancelled,
       CAST(coalesce(delay >= 15, false) AS BIGINT) AS delayed,
       IF(departure IS NULL, 0L, distance) AS miles, delay AS worst_delay,
       departure AS first_departure, departure AS last_departure,
       IF(departure IS NULL, NULL, flight) AS last_flight, tailnum AS last_aircraft
FROM flights WHERE month = 1 AND origin = 'LGA';
INSERT INTO keyfold.demo.carrier_days SELECT carrier, day, 1L AS flights, CAST(departure IS NULL AS BIGINT) AS cancelled,
       CAST(coalesce(delay >= 15, false) AS BIGINT) AS delayed,
       IF(departure IS NULL, 0L, distance) AS miles, delay AS worst_delay,
       departure AS first_departure, departure AS last_departure,
       IF(departure IS NULL, NULL, flight) AS last_flight, tailnum AS last_aircraft
FROM flights WHERE month = 2 AND origin = 'EWR';
INSERT INTO keyfold.demo.carrier_days SELECT carrier, day, 1L AS flights, CAST(departure IS NULL AS BIGINT) AS cancelled,
       CAST(coalesce(delay >= 15, false) AS BIGINT) AS delayed,
       IF(departure IS NULL, 0L, distance) AS miles, delay AS worst_delay,
       departure AS first_departure, departure AS last_departure,
       IF(departure IS NULL, NULL, flight) AS last_flight, tailnum AS last_aircraft
FROM flights WHERE month = 2 AND origin = 'JFK';
INSERT INTO keyfold.demo.carrier_days SELECT carrier, day, 1L AS flights, CAST(departure IS NULL AS BIGINT) AS cancelled,
       CAST(coalesce(delay >= 15, false) AS BIGINT) AS delayed,
       IF(departure IS NULL, 0L, distance) AS miles, delay AS worst_delay,
       departure AS first_departure, departure AS last_departure,
       IF(departure IS NULL, NULL, flight) AS last_flight, tailnum AS last_aircraft
FROM flights WHERE month = 2 AND origin = 'LGA';
INSERT INTO keyfold.demo.aircraft SELECT tailnum, carrier, flight, origin, dest, departure, arrival_delay
FROM flights WHERE month = 2 AND tailnum IS NOT NULL;
INSERT INTO keyfold.demo.aircraft SELECT tailnum, carrier, flight, origin, dest, departure, arrival_delay
FROM flights WHERE month = 1 AND tailnum IS NOT NULL;
INSERT INTO keyfold.demo.departures (day, carrier, flight, origin, observed, temperature, gust, worst_sight)
SELECT flights.day, carrier, flight, flights.origin, observed, temp, wind_gust, visib
FROM flights JOIN weather_hours AS weather
  ON weather.origin = flights.origin
  AND observed = date_trunc('HOUR', departure) - make_interval(0, 0, 0, 0, 0)
WHERE month = 1;
INSERT INTO keyfold.demo.departures (day, carrier, flight, origin, register, manufacturer, model, seats)
SELECT day, carrier, flight, origin, 2,
       IF(2 = 1, 'UNKNOWN', manufacturer), model, IF(2 = 1, 0, CAST(seats AS INT))
FROM flights JOIN planes USING (tailnum) WHERE month = 1;
INSERT INTO keyfold.demo.departures (day, carrier, flight, origin, reported, departure, dest, tailnum, delay)
SELECT day, carrier, flight, origin, coalesce(departure, CAST(day AS TIMESTAMP_NTZ)),
       departure, dest, tailnum, delay
FROM flights WHERE month = 1;
INSERT INTO keyfold.demo.departures (day, carrier, flight, origin, register, manufacturer, model, seats)
SELECT day, carrier, flight, origin, 1,
       IF(1 = 1, 'UNKNOWN', manufacturer), model, IF(1 = 1, 0, CAST(seats AS INT))
FROM flights JOIN planes USING (tailnum) WHERE month = 1;
INSERT INTO keyfold.demo.departures (day, carrier, flight, origin, observed, temperature, gust, worst_sight)
SELECT flights.day, carrier, flight, flights.origin, observed, temp, wind_gust, visib
FROM flights JOIN weather_hours AS weather
  ON weather.origin = flights.origin
  AND observed = date_trunc('HOUR', departure) - make_interval(0, 0, 0, 0, 3)
WHERE month = 1;
INSERT INTO keyfold.demo.departures (day, carrier, flight, origin, observed, temperature, gust, worst_sight)
SELECT flights.day, carrier, flight, flights.origin, observed, temp, wind_gust, visib
FROM flights JOIN weather_hours AS weather
  ON weather.origin = flights.origin
  AND observed = date_trunc('HOUR', departure) - make_interval(0, 0, 0, 0, 0)
WHERE month = 2;
INSERT INTO keyfold.demo.departures (day, carrier, flight, origin, register, manufacturer, model, seats)
SELECT day, carrier, flight, origin, 1,
       IF(1 = 1, 'UNKNOWN', manufacturer), model, IF(1 = 1, 0, CAST(seats AS INT))
FROM flights JOIN planes USING (tailnum) WHERE month = 2;
INSERT INTO keyfold.demo.departures (day, carrier, flight, origin, reported, departure, dest, tailnum, delay)
SELECT day, carrier, flight, origin, coalesce(departure, CAST(day AS TIMESTAMP_NTZ)),
       departure, dest, tailnum, delay
FROM flights WHERE month = 2;
INSERT INTO keyfold.demo.departures (day, carrier, flight, origin, register, manufacturer, model, seats)
SELECT day, carrier, flight, origin, 2,
       IF(2 = 1, 'UNKNOWN', manufacturer), model, IF(2 = 1, 0, CAST(seats AS INT))
FROM flights JOIN planes USING (tailnum) WHERE month = 2;
INSERT INTO keyfold.demo.departures (day, carrier, flight, origin, observed, temperature, gust, worst_sight)
SELECT flights.day, carrier, flight, flights.origin, observed, temp, wind_gust, visib
FROM flights JOIN weather_hours AS weather
  ON weather.origin = flights.origin
  AND observed = date_trunc('HOUR', departure) - make_interval(0, 0, 0, 0, 3)
WHERE month = 2;
INSERT INTO keyfold.demo.airports SELECT origin, count(*), keyfold.bitmap_union(keyfold.to_bitmap(number)),
       array_join(array_sort(collect_set(dest)), ',')
FROM flights LEFT JOIN aircraft_numbers USING (tailnum) WHERE month = 1 GROUP BY origin;
INSERT INTO keyfold.demo.airports SELECT origin, count(*), keyfold.bitmap_union(keyfold.to_bitmap(number)),
       array_join(array_sort(collect_set(dest)), ',')
FROM flights LEFT JOIN aircraft_numbers USING (tailnum) WHERE month = 2 GROUP BY origin;
