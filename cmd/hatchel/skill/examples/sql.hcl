# A tool that reads a database, and one that changes it. Values are parameters, wherever they are written.

connection "sqlite" "desk" {
  file = "desk.db"
  init = "CREATE TABLE IF NOT EXISTS tickets (id INTEGER PRIMARY KEY, subject TEXT NOT NULL, status TEXT NOT NULL)"
}

tool "list_tickets" {
  description = "List the tickets of one status, newest first, at most 50."
  input "status" { type = optional(enum("open", "waiting", "closed"), "open") }
  input "text" { type = optional(string("Text that the subject contains", { max_length = 100 })) }
  sql "desk" {
    query = <<-SQL
      SELECT id, subject, status FROM tickets WHERE status = ${input.status}
      %{if input.text != null} AND instr(lower(subject), lower(${input.text})) > 0 %{endif}
      ORDER BY id DESC LIMIT 50
    SQL
  }
}

tool "close_ticket" {
  description = "Close one ticket that is not closed yet."
  input "id" { type = integer("Number of the ticket") }
  sql "desk" { exec = "UPDATE tickets SET status = 'closed' WHERE id = ${input.id} AND status <> 'closed'" }
  expect "there is no such open ticket" { that = "output.affected == 1" }
  text = "Ticket ${input.id} is closed."
}

test "open tickets with a text are listed" {
  tool = "list_tickets"
  args = { text = "PRINT" }
  mock "sql" "desk" { init = "INSERT INTO tickets VALUES (1, 'Printer', 'open'), (2, 'Mouse', 'open'), (3, 'Print', 'closed')" }
  expect { result = [{ id = 1, subject = "Printer", status = "open" }] }
}

test "an open ticket is closed" {
  tool = "close_ticket"
  args = { id = 1 }
  mock "sql" "desk" { init = "INSERT INTO tickets VALUES (1, 'Printer', 'open')" }
  after "ticket" {
    sql "desk" { query = "SELECT status FROM tickets WHERE id = 1" }
  }
  expect {
    text = "Ticket 1 is closed."
    that = "after.ticket.row.status == 'closed'"
  }
}

test "a closed ticket is not closed again" {
  tool = "close_ticket"
  args = { id = 2 }
  mock "sql" "desk" { init = "INSERT INTO tickets VALUES (2, 'Mouse', 'closed')" }
  expect { error = "there is no such open ticket" }
}
