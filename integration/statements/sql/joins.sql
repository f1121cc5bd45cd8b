-- Joins, self-joins, subqueries, set operations, windows over keyfold scans.
CREATE TABLE orders (id INT, customer INT, amount DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED);
CREATE TABLE customers (id INT, name STRING, referrer INT, PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO orders SELECT CAST(id AS INT), CAST(id % 9 AS INT), id * 1.25 FROM range(60);
INSERT INTO customers SELECT CAST(id AS INT), concat('c', id), CAST(id DIV 2 AS INT) FROM range(8);
-- query
SELECT name, count(*), sum(amount) FROM orders JOIN customers ON customer = customers.id GROUP BY name;
-- query
SELECT orders.id, name FROM orders LEFT JOIN customers ON customer = customers.id WHERE amount > 60;
-- query
SELECT name FROM customers LEFT ANTI JOIN orders ON customer = customers.id AND amount > 70;
-- query
SELECT a.name, b.name AS by FROM customers a JOIN customers b ON a.referrer = b.id;
-- query
SELECT /*+ MERGE(b) */ a.id, b.amount FROM orders a JOIN orders b ON a.id = b.id WHERE a.id % 5 = 0;
-- query
SELECT /*+ BROADCAST(c) */ o.id FROM orders o JOIN customers c ON o.customer = c.id AND c.name > 'c5';
-- query
SELECT name FROM customers WHERE id IN (SELECT customer FROM orders WHERE amount > 68);
-- query
SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.id > 55);
-- query
SELECT id FROM orders WHERE amount > (SELECT avg(amount) * 1.9 FROM orders);
-- query
SELECT customer FROM orders EXCEPT SELECT id FROM customers;
-- query
SELECT id FROM customers INTERSECT SELECT customer FROM orders;
-- query
SELECT id, amount FROM orders WHERE id < 3 UNION ALL SELECT id, 0 FROM customers WHERE id < 2;
-- query
SELECT id, rank() OVER (PARTITION BY customer ORDER BY amount DESC) AS place FROM orders;
-- query
WITH big AS (SELECT * FROM orders WHERE amount > 50)
SELECT x.id, y.id AS other FROM big x JOIN big y ON x.customer = y.customer AND x.id < y.id;
