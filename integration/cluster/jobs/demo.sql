-- The demo's job for spark-sql: spark-sql -f demo.sql, in this folder, with the confs spark.demo.data
-- and spark.demo.answers.
SOURCE views.sql;
SOURCE tables.sql;
SOURCE folds.sql;
SOURCE questions.sql;
