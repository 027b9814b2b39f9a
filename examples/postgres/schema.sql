CREATE TABLE IF NOT EXISTS tickets (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  title   text        NOT NULL,
  status  text        NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'waiting', 'closed')),
  tags    text[]      NOT NULL DEFAULT '{}',
  opened  timestamptz NOT NULL DEFAULT now(),
  closed  timestamptz,
  details jsonb       NOT NULL DEFAULT '{}'
);
CREATE TABLE IF NOT EXISTS remarks (
  ticket  bigint      NOT NULL REFERENCES tickets,
  text    text        NOT NULL,
  written timestamptz NOT NULL DEFAULT now()
);
INSERT INTO tickets (title, tags) SELECT * FROM (VALUES
  ('Printer on floor 3 is out of toner', ARRAY['hardware']),
  ('VPN drops every hour', ARRAY['network', 'urgent'])
) AS seed(title, tags) WHERE NOT EXISTS (SELECT 1 FROM tickets);
