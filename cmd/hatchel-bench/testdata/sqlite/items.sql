PRAGMA journal_mode = WAL;
CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price INTEGER NOT NULL);
WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 10000)
INSERT INTO items SELECT id, 'Item number ' || id, id * 7 + 1 FROM n;
PRAGMA wal_checkpoint(TRUNCATE);
