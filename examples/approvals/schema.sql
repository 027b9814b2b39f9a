CREATE TABLE IF NOT EXISTS refunds (
  id       INTEGER PRIMARY KEY,
  customer TEXT NOT NULL,
  amount   REAL NOT NULL,
  iban     TEXT NOT NULL
);
