-- What was sold, in two halves; `moment` is no order of arrival. cluster/sales.py has the same rows in Python.
CREATE TEMPORARY VIEW sales AS
SELECT id, id DIV 1000 AS half, id % 40 AS item, id % 3 AS shop, id % 7 AS quantity,
       IF(id % 5 = 0, NULL, id * 13 % 1009) AS buyer, id * 7919 % 2003 AS moment
FROM range(0, 2000, 1, 2);
