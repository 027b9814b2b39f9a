state {
  postgres = "postgres:///tools?host=/var/run/pgbouncer"
  listen   = "postgres:///tools?host=/var/run/postgresql"
}
