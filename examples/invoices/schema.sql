CREATE TABLE IF NOT EXISTS invoices (
  id     INTEGER PRIMARY KEY,
  date   TEXT    NOT NULL CHECK (date IS date(date)),
  amount NUMERIC NOT NULL,
  vendor TEXT    NOT NULL CHECK (length(vendor) <= 80)
);
CREATE INDEX IF NOT EXISTS invoices_date ON invoices (date);
INSERT INTO invoices (date, amount, vendor)
SELECT * FROM (VALUES
  ('2026-01-14', 1200.5, 'Northwind Paper'),
  ('2026-02-03', 310, 'Blue Harbor Logistics'),
  ('2026-02-21', 89.9, 'Northwind Paper'),
  ('2026-03-30', 4500, 'Granite Hosting'))
WHERE NOT EXISTS (SELECT 1 FROM invoices);
