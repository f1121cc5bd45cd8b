-- The demo's questions: each answer is a folder of JSON lines below ${spark.demo.answers}.
INSERT OVERWRITE DIRECTORY '${spark.demo.answers}/every_carrier_and_day' USING json
SELECT * FROM keyfold.demo.carrier_days ORDER BY carrier, day;
INSERT OVERWRITE DIRECTORY '${spark.demo.answers}/every_aircrafts_latest_flight' USING json
SELECT * FROM keyfold.demo.aircraft ORDER BY tailnum;
INSERT OVERWRITE DIRECTORY '${spark.demo.answers}/the_year_of_each_carrier' USING json
SELECT name, sum(flights) AS flights, sum(cancelled) AS cancelled, sum(delayed) AS delayed,
       sum(miles) AS miles, max(worst_delay) AS worst_delay
FROM keyfold.demo.carrier_days JOIN airlines USING (carrier) GROUP BY name ORDER BY flights DESC, name;
INSERT OVERWRITE DIRECTORY '${spark.demo.answers}/the_worst_days_and_their_weather' USING json
SELECT day, sum(cancelled) AS cancelled, max(delayed) AS delayed, any_value(gust) AS gust,
       any_value(sight) AS sight
FROM keyfold.demo.carrier_days LEFT JOIN (
  SELECT make_date(year, month, day) AS day, max(wind_gust) AS gust, min(visib) AS sight
  FROM weather GROUP BY 1) USING (day)
GROUP BY day ORDER BY cancelled DESC, day LIMIT 10;
INSERT OVERWRITE DIRECTORY '${spark.demo.answers}/who_made_what_flew_last' USING json
SELECT manufacturer, count(*) AS aircraft, max(departure) AS last_departure
FROM keyfold.demo.aircraft JOIN planes USING (tailnum) GROUP BY manufacturer
ORDER BY aircraft DESC, manufacturer;
INSERT OVERWRITE DIRECTORY '${spark.demo.answers}/every_departure' USING json
SELECT * FROM keyfold.demo.departures ORDER BY day, carrier, flight, origin;
INSERT OVERWRITE DIRECTORY '${spark.demo.answers}/delays_by_maker_and_gusts' USING json
SELECT manufacturer, gust > 25 AS gusty, count(*) AS flights, round(avg(delay), 6) AS delay
FROM keyfold.demo.departures WHERE seats > 0 GROUP BY 1, 2 ORDER BY flights DESC, manufacturer, gusty;
INSERT OVERWRITE DIRECTORY '${spark.demo.answers}/every_airport_its_aircraft' USING json
SELECT * FROM (SELECT airport, flights, keyfold.bitmap_count(aircraft) AS aircraft,
       array_join(array_sort(split(destinations, ',')), ',') AS destinations FROM keyfold.demo.airports) ORDER BY airport;
INSERT OVERWRITE DIRECTORY '${spark.demo.answers}/different_aircraft_in_all' USING json
SELECT * FROM (SELECT keyfold.bitmap_union_count(aircraft) AS aircraft FROM keyfold.demo.airports);
INSERT OVERWRITE DIRECTORY '${spark.demo.answers}/one_aircraft_by_key' USING json
SELECT * FROM keyfold.demo.aircraft WHERE tailnum = 'N14228';
