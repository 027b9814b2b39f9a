-- The tables of the service desk. This runs every time the database is opened, so it must be repeatable.
CREATE TABLE IF NOT EXISTS tickets (
  id INTEGER PRIMARY KEY,
  opened TEXT NOT NULL DEFAULT CURRENT_DATE,
  department TEXT NOT NULL,
  subject TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'waiting', 'closed')),
  resolution TEXT
);
CREATE TABLE IF NOT EXISTS notes (
  id INTEGER PRIMARY KEY,
  ticket INTEGER NOT NULL REFERENCES tickets (id),
  text TEXT NOT NULL
);
INSERT INTO tickets (id, opened, department, subject, status) VALUES
  (101, '2026-03-02', 'Warehouse', 'Label printer prints blank labels', 'open'),
  (102, '2026-03-03', 'Accounting', 'VPN drops every hour', 'open'),
  (110, '2026-03-05', 'Warehouse', 'Scanner does not charge', 'waiting'),
  (120, '2026-01-12', 'Sales', 'Shared calendar is not shared', 'closed')
ON CONFLICT DO NOTHING;
INSERT INTO notes (id, ticket, text) VALUES
  (1, 101, 'Started after the paper roll was changed.'),
  (2, 101, 'Cleaning the print head did not help.'),
  (3, 102, 'Only from home, never in the office.')
ON CONFLICT DO NOTHING;
