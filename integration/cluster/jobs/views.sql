-- The flights of 2013 as files, which any job may read: ${spark.demo.data} is a folder of Parquet.
CREATE TEMPORARY VIEW flights USING parquet OPTIONS (path '${spark.demo.data}/flights');
CREATE TEMPORARY VIEW planes USING parquet OPTIONS (path '${spark.demo.data}/planes');
CREATE TEMPORARY VIEW airlines USING parquet OPTIONS (path '${spark.demo.data}/airlines');
CREATE TEMPORARY VIEW weather USING parquet OPTIONS (path '${spark.demo.data}/weather');
CREATE TEMPORARY VIEW weather_hours USING parquet OPTIONS (path '${spark.demo.data}/weather_hours');
CREATE TEMPORARY VIEW aircraft_numbers USING parquet OPTIONS (path '${spark.demo.data}/aircraft_numbers');
