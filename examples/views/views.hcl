# A service desk whose answers are drawn in hosts of MCP Apps: a table, charts, a record and a form. It runs as it is: the
# database is created from schema.sql.

server {
  name         = "desk-views"
  version      = "1.0.0"
  instructions = "Tickets of the service desk. The user sees results as tables, charts and forms, so do not repeat them."
}

connection "sqlite" "desk" {
  file = "desk.db"
  init = file("schema.sql")
  mode = "rw"
}

type "status" { is = enum("open", "waiting", "closed") }

tool "list_tickets" {
  title       = "Tickets"
  description = "List the tickets of one status, newest first. The user sees them as a table."
  meta        = { "anthropic/searchHint" = "issues, incidents, support requests" }
  input "status" { type = optional(type.status) }
  sql "desk" {
    query = <<-SQL
      SELECT id, opened, subject, team, status, hours FROM tickets
      %{if input.status != null} WHERE status = ${input.status} %{endif}
      ORDER BY opened DESC, id DESC LIMIT 500
    SQL
  }
  returns = list(object({
    id      = integer
    opened  = string({ format = "date" })
    subject = string
    team    = string
    status  = type.status
    hours   = nullable(number)
  }))
  view "table" {
    sort   = "-opened"
    filter = true
    open   = "get_ticket"
  }
}

tool "get_ticket" {
  title       = "Ticket"
  description = "Read one ticket with its notes."
  input "id" { type = integer("Number of the ticket", { min = 1 }) }
  step "ticket" {
    sql "desk" { query = "SELECT id, opened, subject, team, status, hours, link FROM tickets WHERE id = ${input.id}" }
    expect "there is no ticket with this number" { that = "output.row != null" }
  }
  step "notes" {
    sql "desk" { query = "SELECT written, author, text FROM notes WHERE ticket = ${input.id} ORDER BY id" }
  }
  result = "merge(step.ticket.row, {notes: step.notes.rows})"
  returns = object({
    id      = integer
    subject = string
    status  = type.status
    team    = string
    opened  = string({ format = "date" })
    hours   = nullable(number)
    link    = string
    notes   = list(object({ written = string, author = string, text = string }))
  })
  view "record" {
    column "link" { link = true }
  }
}

tool "hours_by_month" {
  title       = "Hours by month"
  description = "Hours that were spent on tickets, and hours that were planned, per month. The user sees a chart."
  sql "desk" { query = "SELECT month, spent, planned FROM months ORDER BY month" }
  returns = list(object({ month = string, spent = number, planned = number }))
  view "chart" {
    x = "month"
    y = ["spent", "planned"]
  }
}

tool "tickets_by_team" {
  title       = "Tickets by team"
  description = "How many tickets each team has, open and closed. The user sees a chart."
  sql "desk" {
    query = <<-SQL
      SELECT team, SUM(status <> 'closed') AS open, SUM(status = 'closed') AS closed FROM tickets GROUP BY team ORDER BY team
    SQL
  }
  returns = list(object({ team = string, open = integer, closed = integer }))
  view "chart" {
    kind = "bar"
    x    = "team"
    y    = ["open", "closed"]
  }
}

tool "new_ticket" {
  title       = "Open a ticket"
  description = "Show the user a form that opens a ticket. Pass what you know already; the user sends the form."
  input "subject" { type = optional(string("What is wrong, in one line"), "") }
  input "team" { type = optional(enum("Network", "Workplace", "Shop"), "Workplace") }
  result  = "{subject: input.subject, team: input.team}"
  returns = object({ subject = string, team = string })
  view "form" { calls = "open_ticket" }
}

tool "open_ticket" {
  title       = "Open ticket"
  description = "Open a ticket at the service desk."
  input "subject" { type = string("What is wrong, in one line", { min_length = 3, max_length = 80 }) }
  input "team" { type = enum("Network", "Workplace", "Shop") }
  input "due" { type = optional(string("When it has to work again", { format = "date" })) }
  input "details" { type = optional(string("What you have tried already"), "") }
  idempotency { ttl = "24h" }
  sql "desk" {
    exec = <<-SQL
      INSERT INTO tickets (opened, subject, team, status, link, due, details) VALUES
      (date('now'), ${input.subject}, ${input.team}, 'open', 'https://desk.example/new', ${input.due}, ${input.details})
      RETURNING id
    SQL
  }
  text = "Ticket ${output.row.id} was opened for the team ${input.team}."
}
