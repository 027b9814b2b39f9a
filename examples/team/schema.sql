-- The invoices. This runs every time the database is opened, so it must be repeatable.
CREATE TABLE IF NOT EXISTS invoices (
  id INTEGER PRIMARY KEY,
  vendor TEXT NOT NULL,
  amount NUMERIC NOT NULL,
  paid TEXT
);
INSERT INTO invoices (id, vendor, amount)
SELECT 1, 'Northwind Paper', 640 WHERE NOT EXISTS (SELECT * FROM invoices)
UNION ALL SELECT 2, 'Blue Harbor Logistics', 25000 WHERE NOT EXISTS (SELECT * FROM invoices)
UNION ALL SELECT 3, 'Northwind Paper', 310 WHERE NOT EXISTS (SELECT * FROM invoices);
