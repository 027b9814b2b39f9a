CREATE TABLE IF NOT EXISTS tickets (
  id INTEGER PRIMARY KEY, opened TEXT NOT NULL, subject TEXT NOT NULL, team TEXT NOT NULL, status TEXT NOT NULL, hours NUMERIC,
  link TEXT NOT NULL, due TEXT, details TEXT);
CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, ticket INTEGER NOT NULL, written TEXT NOT NULL, author TEXT NOT NULL, text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS months (month TEXT PRIMARY KEY, spent NUMERIC NOT NULL, planned NUMERIC NOT NULL);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 36)
INSERT OR IGNORE INTO tickets (id, opened, subject, team, status, hours, link)
SELECT 1001 + i, date('2026-11-27', '-' || (i * 5 / 3) || ' days'),
  json_extract('["Printer in room 4 does not print","New laptop for the warehouse","VPN disconnects every hour","Invoice 1042 was paid twice","Password of the shop system expired"]', '$[' || (i % 5) || ']'),
  json_extract('["Workplace","Workplace","Network","Shop","Shop"]', '$[' || (i % 5) || ']'),
  CASE WHEN i < 9 THEN 'open' WHEN i % 4 = 0 THEN 'waiting' ELSE 'closed' END,
  CASE WHEN i < 5 THEN NULL ELSE (i * 37 % 19) / 2.0 END, 'https://desk.example/tickets/' || (1001 + i)
FROM n;
INSERT OR IGNORE INTO notes VALUES
  (1, 1001, '2026-11-27 09:12', 'Ada', 'It is switched on, and the light is green.'),
  (2, 1001, '2026-11-27 09:40', 'Grace', 'The driver was updated last night. I install the earlier one.');
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
INSERT OR IGNORE INTO months
SELECT strftime('%Y-%m', '2025-04-01', '+' || i || ' months'), 180 + i * 6 + i * 37 % 61, 200 + i * 5 FROM n;
