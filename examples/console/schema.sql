CREATE TABLE IF NOT EXISTS orders (
  id       INTEGER PRIMARY KEY,
  customer TEXT NOT NULL,
  total    REAL NOT NULL,
  refunded REAL NOT NULL DEFAULT 0,
  note     TEXT
);
INSERT OR IGNORE INTO orders (id, customer, total) VALUES (1041, 'Blue Harbor', 80), (1042, 'Ada Lovelace', 250);
