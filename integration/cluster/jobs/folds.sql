-- Both halves of the sales, the second one first; each feed of orders has the key and what it knows.
INSERT INTO keyfold.shop.totals SELECT shop, item, 1L, quantity, quantity, buyer, moment FROM sales WHERE half = 1;
INSERT INTO keyfold.shop.totals SELECT shop, item, 1L, quantity, quantity, buyer, moment FROM sales WHERE half = 0;
INSERT INTO keyfold.shop.latest SELECT item, shop, moment FROM sales WHERE half = 1;
INSERT INTO keyfold.shop.latest SELECT item, shop, moment FROM sales WHERE half = 0;
INSERT INTO keyfold.shop.orders (id, sent, carrier) SELECT id, moment, concat('c', shop) FROM sales
  WHERE id BETWEEN 200 AND 399;
INSERT INTO keyfold.shop.orders (id, paid, amount) SELECT id, moment, quantity FROM sales WHERE id < 300;
INSERT INTO keyfold.shop.orders (id, paid, amount) SELECT id, moment - 1, -1L FROM sales WHERE id < 300;
INSERT INTO keyfold.shop.shops SELECT shop, keyfold.bitmap_union(keyfold.to_bitmap(buyer)),
  array_join(array_sort(collect_set(concat('i', item % 10))), ',') FROM sales WHERE half = 1 GROUP BY shop;
INSERT INTO keyfold.shop.shops SELECT shop, keyfold.bitmap_union(keyfold.to_bitmap(buyer)),
  array_join(array_sort(collect_set(concat('i', item % 10))), ',') FROM sales WHERE half = 0 GROUP BY shop;
