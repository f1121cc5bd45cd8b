"""The demo's corrections: a MERGE, an UPDATE and a DELETE, and the state before them by its tag.

Each has its counterpart over the raw flights, which plain Spark folds once more.
"""

from integration.demo import tables

TAG = "as_reported"

# What United reports late of its flights from Newark in January: some never took place, the delays
# of others were wrong, and some that were cancelled had not been reported at all.
CORRECTIONS = """
SELECT day, carrier, flight, origin, dest,
       CASE WHEN flight % 50 = 0 THEN 'void' WHEN flight % 7 = 0 THEN 'delay' ELSE 'new'
       END AS what,
       IF(flight % 7 = 0, delay + 5, NULL) AS delay,
       IF(flight % 50 = 0 OR flight % 7 = 0, flight, flight + 9000) AS number
FROM flights
WHERE month = 1 AND carrier = 'UA' AND origin = 'EWR'
  AND (flight % 50 = 0 OR flight % 7 = 0 OR flight % 11 = 0)
"""

MERGE = """
MERGE INTO {departures} AS t
USING (SELECT day, carrier, number AS flight, origin, dest, what, delay FROM corrections) AS c
ON t.day = c.day AND t.carrier = c.carrier AND t.flight = c.flight AND t.origin = c.origin
WHEN MATCHED AND c.what = 'void' THEN DELETE
WHEN MATCHED AND c.what = 'delay' AND t.delay IS DISTINCT FROM c.delay
  THEN UPDATE SET delay = c.delay
WHEN NOT MATCHED AND c.what = 'new' THEN
  INSERT (day, carrier, flight, origin, reported, dest)
  VALUES (c.day, c.carrier, c.flight, c.origin, CAST(c.day AS TIMESTAMP_NTZ), c.dest)
"""

# Envoy's clock was wrong; a day of JetBlue was another carrier's.
UPDATE = "UPDATE {departures} SET delay = NULL WHERE carrier = 'MQ' AND delay > 200"
DELETE = "DELETE FROM {departures} WHERE carrier = 'B6' AND day = DATE'2013-01-15'"
STATEMENTS = {"MERGE": MERGE, "UPDATE": UPDATE, "DELETE": DELETE}

CORRECTED_FLIGHTS = """
SELECT month, flights.origin, flights.dest, flights.carrier, flights.flight, distance, flights.day,
       CASE WHEN flights.carrier = 'MQ' AND flights.delay > 200 THEN NULL
            WHEN what = 'delay' THEN corrections.delay ELSE flights.delay END AS delay,
       arrival_delay, tailnum, departure
FROM flights LEFT JOIN corrections
  ON what <> 'new' AND flights.day = corrections.day AND flights.carrier = corrections.carrier
  AND flights.flight = corrections.flight AND flights.origin = corrections.origin
WHERE coalesce(what, '') <> 'void'
  AND NOT (flights.carrier = 'B6' AND flights.day = DATE'2013-01-15')
UNION ALL
SELECT 1, origin, dest, carrier, number, NULL, day, NULL, NULL, NULL, NULL
FROM corrections WHERE what = 'new'
"""

CORRECTED = tables.DEPARTURES_EXPECTED.replace("FROM flights", "FROM corrected_flights AS flights")
CREATE_TAG = f"CALL keyfold.sys.create_tag(table => 'demo.departures', tag => '{TAG}')"

# By label: our text, and that of plain Spark, as in the other chapters.
IN_ORDER = "ORDER BY day, carrier, flight, origin"
QUESTIONS = {
    "every departure, corrected": (
        f"SELECT * FROM {{departures}} {IN_ORDER}",
        f"SELECT * FROM expected_corrected {IN_ORDER}",
    ),
    "every departure, as reported": (
        f"SELECT * FROM {{departures}} VERSION AS OF '{TAG}' {IN_ORDER}",
        f"SELECT * FROM expected_departures {IN_ORDER}",
    ),
}
