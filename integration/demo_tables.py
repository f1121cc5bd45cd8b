"""The demo's two tables, what plain Spark SQL expects in them, and the questions asked."""

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
    "one aircraft by key": "SELECT * FROM {aircraft} WHERE tailnum = 'N14228'",
}
