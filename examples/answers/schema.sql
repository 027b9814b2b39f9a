-- The tickets of a service desk. This runs every time the database is opened, so it must be repeatable.
CREATE TABLE IF NOT EXISTS tickets (
  id INTEGER PRIMARY KEY,
  opened TEXT NOT NULL,
  title TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('open', 'waiting', 'closed')),
  notes TEXT
);
INSERT INTO tickets (id, opened, title, status, notes) VALUES
  (101, '2026-03-02', 'Label printer prints blank labels', 'open', 'Started after the paper roll was changed.'),
  (102, '2026-03-03', 'VPN drops every hour, from home', 'open', NULL),
  (110, '2026-03-05', 'Scanner does not charge', 'waiting', ''),
  (120, '2026-01-12', 'Shared calendar is not shared', 'closed', NULL)
ON CONFLICT DO NOTHING;
