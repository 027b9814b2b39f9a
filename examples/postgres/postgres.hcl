# A help desk in PostgreSQL. It needs a database server: see README.md in this directory.

server {
  name         = "helpdesk"
  version      = "1.0.0"
  instructions = "Tickets of the help desk. Search before you open a ticket."
}

secret "dsn" { env = "HELPDESK_DSN" }

connection "postgres" "desk" {
  url = secret.dsn
}

connection "postgres" "desk_ro" {
  url  = secret.dsn
  mode = "ro"
}

tool "search_tickets" {
  description = "Search tickets by words in the title, status and tags. Newest first."
  input "words" { type = optional(string("Words that the title contains")) }
  input "status" { type = optional(list(enum("open", "waiting", "closed")), ["open", "waiting"]) }
  input "tags" { type = optional(list(string), []) }
  input "limit" { type = optional(integer("Tickets at most", { min = 1, max = 200 }), 20) }

  sql "desk" {
    query = <<-SQL
      SELECT id, title, status, tags, opened, details FROM tickets
      WHERE status IN ${input.status}
      %{if input.words != null} AND title ILIKE '%' || ${input.words} || '%' %{endif}
      %{if length(input.tags) > 0} AND tags @> ${input.tags} %{endif}
      ORDER BY opened DESC, id DESC LIMIT ${input.limit}
    SQL
  }
}

tool "open_ticket" {
  description = "Open a ticket. Returns its number."
  input "title" { type = string("One line", { min_length = 3, max_length = 120 }) }
  input "tags" { type = optional(list(string({ max_length = 20 }), { max_items = 5 }), []) }
  input "details" { type = optional(map(any), {}) }

  sql "desk" {
    exec = <<-SQL
      INSERT INTO tickets (title, tags, details) VALUES (${input.title}, ${input.tags}, ${input.details})
      RETURNING id, opened
    SQL
  }
  text = "Ticket ${output.row.id} opened."
}

tool "close_tickets" {
  description = "Close tickets with a remark. Either all of them are closed or none."
  input "ids" { type = list(integer, { min_items = 1, max_items = 50 }) }
  input "remark" { type = string("Why the tickets are closed", { min_length = 1, max_length = 500 }) }

  sql "desk" {
    exec = [
      "UPDATE tickets SET status = 'closed', closed = now() WHERE id IN ${input.ids} AND status <> 'closed'",
      "INSERT INTO remarks (ticket, text) SELECT id, ${input.remark} FROM tickets WHERE id IN ${input.ids}",
    ]
  }
  expect "some of these tickets do not exist or are closed already" { that = "output.results[0].affected == len(input.ids)" }
  text = "Closed ${output.results[0].affected} tickets."
}

tool "query" {
  description = "Run one read-only SQL statement on the help desk. Tables: tickets(id, title, status, tags text[], opened, closed, details jsonb), remarks(ticket, text, written)."
  input "sql" { type = string("One SELECT statement") }

  sql "desk_ro" {
    statement = input.sql
    max_rows  = 200
  }
}
