"""The demo's four tables, what plain Spark SQL expects in them, and the questions asked."""

CARRIER_DAYS = """
CREATE TABLE {name} (
  carrier STRING, day DATE,
  flights BIGINT, cancelled BIGINT, delayed BIGINT, miles BIGINT, worst_delay INT,
  first_departure TIMESTAMP_NTZ, last_departure TIMESTAMP_NTZ,
  last_flight INT, last_aircraft STRING,
  PRIMARY KEY (carrier, day) NOT ENFORCED
) TBLPROPERTIES (
  'merge-engine' = 'aggregation',
  'sequence.field' = 'last_departure,last_flight',
  'fields.flights.aggregate-function' = 'sum',
  'fields.cancelled.aggregate-function' = 'sum',
  'fields.delayed.aggregate-function' = 'sum',
  'fields.miles.aggregate-function' = 'sum',
  'fields.worst_delay.aggregate-function' = 'max',
  'fields.first_departure.aggregate-function' = 'min',
  'fields.last_aircraft.aggregate-function' = 'last_non_null_value')
"""

# One record per flight. The record with the latest departure is merged last, so it gives the last
# departure, flight and aircraft; a cancelled flight has none of them and never comes last.
CARRIER_DAY_RECORDS = """
SELECT carrier, day, 1L AS flights, CAST(departure IS NULL AS BIGINT) AS cancelled,
       CAST(coalesce(delay >= 15, false) AS BIGINT) AS delayed,
       IF(departure IS NULL, 0L, distance) AS miles, delay AS worst_delay,
       departure AS first_departure, departure AS last_departure,
       IF(departure IS NULL, NULL, flight) AS last_flight, tailnum AS last_aircraft
FROM flights WHERE month = {month} AND origin = '{origin}'
"""

CARRIER_DAYS_EXPECTED = """
SELECT carrier, day, count(*) AS flights, count_if(departure IS NULL) AS cancelled,
       count_if(delay >= 15) AS delayed,
       coalesce(sum(distance) FILTER (WHERE departure IS NOT NULL), 0) AS miles,
       max(delay) AS worst_delay,
       min(departure) AS first_departure, max(departure) AS last_departure,
       max_by(flight, (departure, flight)) FILTER (WHERE departure IS NOT NULL) AS last_flight,
       max_by(tailnum, (departure, flight)) FILTER (WHERE departure IS NOT NULL) AS last_aircraft
FROM flights GROUP BY carrier, day
"""

AIRCRAFT = """
CREATE TABLE {name} (
  tailnum STRING, carrier STRING, flight INT, origin STRING, dest STRING,
  departure TIMESTAMP_NTZ, arrival_delay INT,
  PRIMARY KEY (tailnum) NOT ENFORCED
) TBLPROPERTIES ('merge-engine' = 'deduplicate', 'sequence.field' = 'departure')
"""

AIRCRAFT_RECORDS = """
SELECT tailnum, carrier, flight, origin, dest, departure, arrival_delay
FROM flights WHERE month = {month} AND tailnum IS NOT NULL
"""

AIRCRAFT_EXPECTED = """
SELECT tailnum, latest.* FROM (
  SELECT tailnum, max_by(struct(carrier, flight, origin, dest, departure, arrival_delay), departure)
         AS latest
  FROM flights WHERE tailnum IS NOT NULL GROUP BY tailnum)
"""

# Some months come twice, and late: the departure time decides, not the order of arrival.
AIRCRAFT_MONTHS = (2, 1, 3, 3, 5, 4, 6, 8, 7, 6, 9, 10, 12, 11, 12, 10)

# Flights, aircraft and weather arrive apart from each other, each with its own sequence: what a
# flight reports, what is known of its aircraft, and the weather when it left.
DEPARTURES = """
CREATE TABLE {name} (
  day DATE, carrier STRING, flight INT, origin STRING,
  reported TIMESTAMP_NTZ, departure TIMESTAMP_NTZ, dest STRING, tailnum STRING, delay INT,
  register INT, manufacturer STRING, model STRING, seats INT,
  observed TIMESTAMP_NTZ, temperature DOUBLE, gust DOUBLE, worst_sight DOUBLE,
  PRIMARY KEY (day, carrier, flight, origin) NOT ENFORCED
) TBLPROPERTIES (
  'merge-engine' = 'partial-update',
  'fields.reported.sequence-group' = 'departure,dest,tailnum,delay',
  'fields.register.sequence-group' = 'manufacturer,model,seats',
  'fields.observed.sequence-group' = 'temperature,gust,worst_sight',
  'fields.worst_sight.aggregate-function' = 'min')
"""

FLIGHT_RECORDS = """
(day, carrier, flight, origin, reported, departure, dest, tailnum, delay)
SELECT day, carrier, flight, origin, coalesce(departure, CAST(day AS TIMESTAMP_NTZ)),
       departure, dest, tailnum, delay
FROM flights WHERE month = {month}
"""

# The register of aircraft is sent twice: first with its old entries, numbered 1, and with what
# stands there now, numbered 2. They arrive the other way round in odd months.
PLANE_RECORDS = """
(day, carrier, flight, origin, register, manufacturer, model, seats)
SELECT day, carrier, flight, origin, {register},
       IF({register} = 1, 'UNKNOWN', manufacturer), model, IF({register} = 1, 0, CAST(seats AS INT))
FROM flights JOIN planes USING (tailnum) WHERE month = {month}
"""

# The weather of the hour of departure, and, late, that of {hours} hours before it: the older one
# changes nothing but the worst sight, which is a minimum of all.
WEATHER_RECORDS = """
(day, carrier, flight, origin, observed, temperature, gust, worst_sight)
SELECT flights.day, carrier, flight, flights.origin, observed, temp, wind_gust, visib
FROM flights JOIN weather_hours AS weather
  ON weather.origin = flights.origin
  AND observed = date_trunc('HOUR', departure) - make_interval(0, 0, 0, 0, {hours})
WHERE month = {month}
"""

DEPARTURES_EXPECTED = """
WITH known AS (
  SELECT flights.*, manufacturer, model, CAST(seats AS INT) AS seats,
         IF(planes.tailnum IS NULL, NULL, 2) AS register,
         now.observed, now.temp, now.wind_gust, now.visib, before.observed AS observed_before,
         before.temp AS temp_before, before.wind_gust AS gust_before, before.visib AS visib_before
  FROM flights
  LEFT JOIN planes USING (tailnum)
  LEFT JOIN weather_hours AS now ON now.origin = flights.origin
    AND now.observed = date_trunc('HOUR', departure)
  LEFT JOIN weather_hours AS before ON before.origin = flights.origin
    AND before.observed = date_trunc('HOUR', departure) - make_interval(0, 0, 0, 0, 3))
SELECT day, carrier, flight, origin,
       coalesce(departure, CAST(day AS TIMESTAMP_NTZ)) AS reported, departure, dest, tailnum, delay,
       register, manufacturer, model, seats,
       coalesce(observed, observed_before) AS observed,
       IF(observed IS NULL, temp_before, temp) AS temperature,
       IF(observed IS NULL, gust_before, wind_gust) AS gust,
       least(visib, visib_before) AS worst_sight
FROM known
"""

AIRPORTS = """
CREATE TABLE {name} (
  airport STRING, flights BIGINT, aircraft BINARY, destinations STRING,
  PRIMARY KEY (airport) NOT ENFORCED
) TBLPROPERTIES (
  'merge-engine' = 'aggregation',
  'fields.flights.aggregate-function' = 'sum',
  'fields.aircraft.aggregate-function' = 'rbm32',
  'fields.destinations.aggregate-function' = 'listagg',
  'fields.destinations.distinct' = 'true')
"""

AIRPORT_RECORDS = """
SELECT origin, count(*), keyfold.bitmap_union(keyfold.to_bitmap(number)),
       array_join(array_sort(collect_set(dest)), ',')
FROM flights LEFT JOIN aircraft_numbers USING (tailnum) WHERE month = {month} GROUP BY origin
"""

# What can be asked of an airport, with the bitmap counted and the text taken apart.
AIRPORTS_ASKED = """
SELECT airport, flights, keyfold.bitmap_count(aircraft) AS aircraft,
       array_join(array_sort(split(destinations, ',')), ',') AS destinations FROM {name}
"""

AIRPORTS_EXPECTED = """
SELECT origin AS airport, count(*) AS flights, count(DISTINCT tailnum) AS aircraft,
       array_join(array_sort(collect_set(dest)), ',') AS destinations
FROM flights GROUP BY origin
"""

ALL_AIRCRAFT_ASKED = "SELECT keyfold.bitmap_union_count(aircraft) AS aircraft FROM {name}"
ALL_AIRCRAFT_EXPECTED = "SELECT count(DISTINCT tailnum) AS aircraft FROM flights"

# Asked of the keyfold tables and of the expected ones, in a total order.
QUESTIONS = {
    "every carrier and day": "SELECT * FROM {carrier_days} ORDER BY carrier, day",
    "every aircraft's latest flight": "SELECT * FROM {aircraft} ORDER BY tailnum",
    "the year of each carrier": """
SELECT name, sum(flights) AS flights, sum(cancelled) AS cancelled, sum(delayed) AS delayed,
       sum(miles) AS miles, max(worst_delay) AS worst_delay
FROM {carrier_days} JOIN airlines USING (carrier) GROUP BY name ORDER BY flights DESC, name""",
    "the worst days and their weather": """
SELECT day, sum(cancelled) AS cancelled, max(delayed) AS delayed, any_value(gust) AS gust,
       any_value(sight) AS sight
FROM {carrier_days} LEFT JOIN (
  SELECT make_date(year, month, day) AS day, max(wind_gust) AS gust, min(visib) AS sight
  FROM weather GROUP BY 1) USING (day)
GROUP BY day ORDER BY cancelled DESC, day LIMIT 10""",
    "who made what flew last": """
SELECT manufacturer, count(*) AS aircraft, max(departure) AS last_departure
FROM {aircraft} JOIN planes USING (tailnum) GROUP BY manufacturer
ORDER BY aircraft DESC, manufacturer""",
    "every departure": "SELECT * FROM {departures} ORDER BY day, carrier, flight, origin",
    "delays by maker and gusts": """
SELECT manufacturer, gust > 25 AS gusty, count(*) AS flights, round(avg(delay), 6) AS delay
FROM {departures} WHERE seats > 0 GROUP BY 1, 2 ORDER BY flights DESC, manufacturer, gusty""",
    "every airport, its aircraft": "SELECT * FROM {airports} ORDER BY airport",
    "different aircraft in all": "SELECT * FROM {all_aircraft}",
    "one aircraft by key": "SELECT * FROM {aircraft} WHERE tailnum = 'N14228'",
}
