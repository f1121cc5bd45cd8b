-- The demo's four tables; demo/tables.py has them for the demo itself, with what is to be said of them.
CREATE NAMESPACE keyfold.demo;
CREATE TABLE keyfold.demo.carrier_days (
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
  'fields.last_aircraft.aggregate-function' = 'last_non_null_value');
CREATE TABLE keyfold.demo.aircraft (
  tailnum STRING, carrier STRING, flight INT, origin STRING, dest STRING,
  departure TIMESTAMP_NTZ, arrival_delay INT,
  PRIMARY KEY (tailnum) NOT ENFORCED
) TBLPROPERTIES ('merge-engine' = 'deduplicate', 'sequence.field' = 'departure');
CREATE TABLE keyfold.demo.departures (
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
  'fields.worst_sight.aggregate-function' = 'min');
CREATE TABLE keyfold.demo.airports (
  airport STRING, flights BIGINT, aircraft BINARY, destinations STRING,
  PRIMARY KEY (airport) NOT ENFORCED
) TBLPROPERTIES (
  'merge-engine' = 'aggregation',
  'fields.flights.aggregate-function' = 'sum',
  'fields.aircraft.aggregate-function' = 'rbm32',
  'fields.destinations.aggregate-function' = 'listagg',
  'fields.destinations.distinct' = 'true');
