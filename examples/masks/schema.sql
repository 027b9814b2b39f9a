CREATE TABLE IF NOT EXISTS customers (
  id          INTEGER PRIMARY KEY,
  name        TEXT NOT NULL,
  email       TEXT,
  phone       TEXT,
  city        TEXT,
  open_amount NUMERIC NOT NULL DEFAULT 0,
  note        TEXT NOT NULL DEFAULT ''
);
INSERT OR IGNORE INTO customers VALUES
  (1, 'Blue Harbor', 'office@blueharbor.example.com', '+49 30 1234567', 'Berlin', 120.5, 'Call +49 170 5554321 after six.'),
  (2, 'Green Valley', 'g.valley@example.org', NULL, 'Berlin', 0, 'Pays from DE89 3704 0044 0532 0130 00, writes from billing@example.org.'),
  (3, 'Red Mill', 'mill@example.net', '+49 40 7654321', 'Hamburg', 80, 'Prefers letters.');
