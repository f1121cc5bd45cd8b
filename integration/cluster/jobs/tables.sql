-- A table for each engine that the jobs fold by.
CREATE NAMESPACE keyfold.shop;
CREATE TABLE keyfold.shop.totals (
  shop BIGINT, item BIGINT, sales BIGINT, quantity BIGINT, best BIGINT, buyer BIGINT, moment BIGINT,
  PRIMARY KEY (shop, item) NOT ENFORCED
) PARTITIONED BY (shop) TBLPROPERTIES (
  'bucket' = '2',
  'merge-engine' = 'aggregation',
  'sequence.field' = 'moment',
  'fields.sales.aggregate-function' = 'sum',
  'fields.quantity.aggregate-function' = 'sum',
  'fields.best.aggregate-function' = 'max',
  'fields.buyer.aggregate-function' = 'last_value');
CREATE TABLE keyfold.shop.latest (
  item BIGINT, shop BIGINT, moment BIGINT,
  PRIMARY KEY (item) NOT ENFORCED
) TBLPROPERTIES ('bucket' = '2', 'merge-engine' = 'deduplicate', 'sequence.field' = 'moment');
CREATE TABLE keyfold.shop.orders (
  id BIGINT, paid BIGINT, amount BIGINT, sent BIGINT, carrier STRING,
  PRIMARY KEY (id) NOT ENFORCED
) TBLPROPERTIES (
  'bucket' = '2',
  'merge-engine' = 'partial-update',
  'fields.paid.sequence-group' = 'amount',
  'fields.sent.sequence-group' = 'carrier');
CREATE TABLE keyfold.shop.shops (
  shop BIGINT, buyers BINARY, kinds STRING,
  PRIMARY KEY (shop) NOT ENFORCED
) TBLPROPERTIES (
  'bucket' = '2',
  'merge-engine' = 'aggregation',
  'fields.buyers.aggregate-function' = 'rbm32',
  'fields.kinds.aggregate-function' = 'listagg',
  'fields.kinds.distinct' = 'true');
