CREATE TABLE IF NOT EXISTS invoices (
  id     INTEGER PRIMARY KEY,
  date   TEXT    NOT NULL,
  amount INTEGER NOT NULL,
  vendor TEXT    NOT NULL
);
