"""The demo's questions that keyfold's functions answer, over plain tables and over stored states.

Each has two texts: the one with our functions, and the one of plain Spark that must agree.
"""

from __future__ import annotations

import keyfold


@keyfold.aggregate.pick("STRING")
def longest(best, value):  # type: ignore[no-untyped-def] # numba compiles it for the column's type
    """The longest text, the first of equally long ones."""
    return len(value) > len(best)


# Delays as states: one row for each carrier and month, rolled up to the year when asked.
DELAYS = """
CREATE TABLE {name} (
  carrier STRING, month INT, delay BINARY, aircraft BINARY,
  PRIMARY KEY (carrier, month) NOT ENFORCED
) TBLPROPERTIES (
  'merge-engine' = 'aggregation',
  'fields.delay.aggregate-function' = 'agg_state',
  'fields.delay.agg-state' = 'avg(int)',
  'fields.aircraft.aggregate-function' = 'agg_state',
  'fields.aircraft.agg-state' = 'approx_count_distinct(string)')
"""

DELAY_RECORDS = """
SELECT carrier, CAST(month AS INT), keyfold.avg_combine(delay),
       keyfold.approx_count_distinct_combine(tailnum)
FROM flights WHERE month = {month} AND origin = '{origin}' GROUP BY carrier, month
"""

FLIGHTS_OF_CARRIERS = "FROM flights JOIN aircraft_numbers USING (tailnum) GROUP BY carrier"

# By label: our text, and that of plain Spark. {delays} is the table of states.
QUESTIONS = {
    "aircraft of a carrier, by bitmap": (
        "SELECT carrier, keyfold.bitmap_count(keyfold.bitmap_agg(number)) AS aircraft, "
        f"sum(distance) AS miles {FLIGHTS_OF_CARRIERS} ORDER BY carrier",
        "SELECT carrier, count(DISTINCT number) AS aircraft, sum(distance) AS miles "
        f"{FLIGHTS_OF_CARRIERS} ORDER BY carrier",
    ),
    "destinations, rolled up": (
        "SELECT carrier, origin, array_join(array_sort(split("
        "keyfold.listagg(dest, '|', true), '[|]')), '|') AS destinations "
        "FROM flights GROUP BY ROLLUP (carrier, origin) ORDER BY carrier, origin",
        "SELECT carrier, origin, array_join(array_sort(collect_set(dest)), '|') AS destinations "
        "FROM flights GROUP BY ROLLUP (carrier, origin) ORDER BY carrier, origin",
    ),
    "each day's median, by quantiles": (
        "SELECT day, keyfold.quantile_percent(keyfold.quantile_union("
        "keyfold.to_quantile_state(CAST(delay AS DOUBLE))), 0.5D) AS delay "
        "FROM flights GROUP BY day ORDER BY day",
        "SELECT day, percentile(delay, 0.5) AS delay FROM flights GROUP BY day ORDER BY day",
    ),
    "longest model, by our own function": (
        "SELECT manufacturer, length(keyfold.longest(model)) AS letters "
        "FROM planes GROUP BY manufacturer ORDER BY manufacturer",
        "SELECT manufacturer, max(length(model)) AS letters "
        "FROM planes GROUP BY manufacturer ORDER BY manufacturer",
    ),
    "a year's delays of monthly states": (
        "SELECT carrier, round(keyfold.avg_merge(delay), 6) AS delay "
        "FROM {delays} GROUP BY carrier ORDER BY carrier",
        "SELECT carrier, round(avg(delay), 6) AS delay FROM flights GROUP BY carrier "
        "ORDER BY carrier",
    ),
    "a month's aircraft, within 5 %": (
        "SELECT month, abs(keyfold.approx_count_distinct_merge(aircraft) / exact - 1) < 0.05 "
        "AS is_near FROM {delays} JOIN (SELECT CAST(month AS INT) AS month, "
        "count(DISTINCT tailnum) AS exact FROM flights GROUP BY month) USING (month) "
        "GROUP BY month, exact ORDER BY month",
        "SELECT CAST(month AS INT) AS month, true AS is_near FROM flights "
        "GROUP BY month ORDER BY month",
    ),
}
