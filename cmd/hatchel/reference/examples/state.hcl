state {
  postgres = "postgres:///tools?host=/var/run/postgresql"
}
