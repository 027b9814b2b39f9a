# A service desk in SQLite: what a client can read, choose and be asked, beside the tools. Runs at once: the database is created from schema.sql.

server {
  name         = "service-desk"
  version      = "1.0.0"
  instructions = "Tickets of the service desk. Read desk://runbook before you change one."
}

connection "sqlite" "desk" {
  file = "desk.db"
  init = file("schema.sql")
}

# A part of what is offered, for agents that need no more: /mcp/reading, or serve --toolset reading.
toolset "reading" {
  title        = "Service desk, to read"
  instructions = "Tickets of the service desk. Nothing can be changed here."
  tools        = ["list_*", "summarize_ticket"]
  resources    = ["*"]
}
