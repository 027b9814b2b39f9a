# Answers that fit the context of a model: CSV, members that the caller chooses, a maximum of tokens, and pages. It runs as it is: the
# database is created from schema.sql.

server {
  name    = "answers"
  version = "1.0.0"
}

connection "sqlite" "desk" {
  file = "desk.db"
  init = file("schema.sql")
}

tool "list_tickets" {
  description = "List tickets of one status, newest first."
  input "status" { type = optional(enum("open", "waiting", "closed"), "open") }
  format     = ["csv", "json"]
  max_tokens = 4000
  projection {
    offer   = ["id", "opened", "title", "status", "notes"]
    default = ["id", "opened", "title"]
  }
  sql "desk" {
    query = <<-SQL
      SELECT id, opened, title, status, notes FROM tickets WHERE status = ${input.status}
      ORDER BY opened DESC, id DESC
    SQL
  }
}

tool "count_tickets" {
  description = "Count tickets by status, as a table for a person to read."
  format      = "markdown"
  sql "desk" { query = "SELECT status, count(*) AS tickets FROM tickets GROUP BY status ORDER BY status" }
}

tool "walk_tickets" {
  description = "List all tickets in pages, newest first. For the next page, repeat the call with next_cursor as cursor."
  page {
    size  = 2
    total = 2000
    keys  = { opened = string({ format = "date" }), id = integer }
  }
  sql "desk" {
    query = <<-SQL
      SELECT id, opened, title FROM tickets
      %{if page.after != null} WHERE (opened, id) < (${page.after.opened}, ${page.after.id}) %{endif}
      ORDER BY opened DESC, id DESC LIMIT ${page.limit}
    SQL
  }
}

resource "tickets" {
  uri         = "desk://tickets"
  description = "All open tickets as CSV."
  format      = "csv"
  sql "desk" {
    query    = "SELECT id, opened, title FROM tickets WHERE status = 'open' ORDER BY id"
    truncate = true
  }
}
