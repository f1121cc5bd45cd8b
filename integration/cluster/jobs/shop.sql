-- The shop's job for spark-sql: spark-sql -f shop.sql, in this folder, with the conf spark.shop.answers.
SOURCE views.sql;
SOURCE tables.sql;
SOURCE folds.sql;
SOURCE questions.sql;
