# A service desk in SQLite, with resources, prompts and questions as well as tools. It runs as it is: the database is created from schema.sql.

server {
  name         = "service-desk"
  version      = "1.0.0"
  instructions = "Tickets of the service desk. Read desk://runbook before you change one."
}

connection "sqlite" "desk" {
  file = "desk.db"
  init = file("schema.sql")
}

# A subset for agents that only read, served at /mcp/reading or with serve --toolset reading.
toolset "reading" {
  title        = "Service desk, read only"
  instructions = "Tickets of the service desk. Nothing can be changed here."
  tools        = ["list_*", "summarize_ticket"]
  resources    = ["*"]
}
