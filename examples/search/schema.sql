CREATE TABLE IF NOT EXISTS orders (
  id       INTEGER PRIMARY KEY,
  customer TEXT NOT NULL,
  address  TEXT NOT NULL,
  status   TEXT NOT NULL DEFAULT 'open',
  total    NUMERIC NOT NULL,
  paid     INTEGER NOT NULL DEFAULT 0,
  refunded NUMERIC NOT NULL DEFAULT 0
);
INSERT OR IGNORE INTO orders VALUES
  (501, 'Blue Harbor', 'Quay 1, Hamburg', 'sent', 120.5, 1, 0),
  (502, 'Green Valley', 'Field Lane 7, Kassel', 'open', 80, 0, 0),
  (503, 'Red Mill', 'Mill Road 3, Trier', 'open', 42, 1, 0),
  (504, 'Green Valley', 'Field Lane 7, Kassel', 'cancelled', 15, 1, 15);
CREATE TABLE IF NOT EXISTS tickets (
  id     INTEGER PRIMARY KEY,
  title  TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'open',
  team   TEXT
);
INSERT OR IGNORE INTO tickets VALUES
  (101, 'Parcel arrived wet', 'open', NULL),
  (102, 'Invoice is missing', 'open', 'accounts'),
  (103, 'Wrong colour', 'closed', 'store');
CREATE TABLE IF NOT EXISTS notes (ticket INTEGER NOT NULL, text TEXT NOT NULL);
