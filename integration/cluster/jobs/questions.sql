-- Each answer is a folder of JSON lines below ${spark.shop.answers}.
INSERT OVERWRITE DIRECTORY '${spark.shop.answers}/totals' USING json
SELECT * FROM keyfold.shop.totals ORDER BY shop, item;
INSERT OVERWRITE DIRECTORY '${spark.shop.answers}/latest' USING json
SELECT * FROM keyfold.shop.latest ORDER BY item;
INSERT OVERWRITE DIRECTORY '${spark.shop.answers}/orders' USING json
SELECT * FROM keyfold.shop.orders ORDER BY id;
INSERT OVERWRITE DIRECTORY '${spark.shop.answers}/joined' USING json
SELECT t.shop, sum(quantity) AS quantity, max(latest.moment) AS moment
FROM keyfold.shop.totals AS t JOIN keyfold.shop.latest AS latest USING (item) GROUP BY t.shop ORDER BY t.shop;
INSERT OVERWRITE DIRECTORY '${spark.shop.answers}/shops' USING json
SELECT * FROM (SELECT shop, keyfold.bitmap_count(buyers) AS buyers,
  array_join(array_sort(split(kinds, ',')), ',') AS kinds FROM keyfold.shop.shops) ORDER BY shop;
INSERT OVERWRITE DIRECTORY '${spark.shop.answers}/every_buyer' USING json
SELECT * FROM (SELECT keyfold.bitmap_union_count(buyers) AS buyers FROM keyfold.shop.shops);
INSERT OVERWRITE DIRECTORY '${spark.shop.answers}/item' USING json
SELECT * FROM keyfold.shop.latest WHERE item = 7;
