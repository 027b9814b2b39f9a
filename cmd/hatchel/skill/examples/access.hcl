# Who may call what: a policy, a toolset, a mask, pages of CSV, and an approval that depends on what the database says.

connection "sqlite" "desk" {
  file = "desk.db"
  init = "CREATE TABLE IF NOT EXISTS tickets (id INTEGER PRIMARY KEY, email TEXT NOT NULL, priority TEXT NOT NULL, status TEXT NOT NULL)"
}

mask "contact" {
  members = ["email"]
  unless  = "'support' in caller.groups"
  with    = "partial"
}

policy "support_closes" {
  tools = ["close_*"]
  allow = "'support' in caller.groups"
}

toolset "reading" { tools = ["list_*"] }

tool "list_open_tickets" {
  description = "List the tickets that are not closed, in pages, as CSV."
  format      = "csv"
  page {
    size = 2
    keys = { id = integer }
  }
  sql "desk" {
    query = <<-SQL
      SELECT id, email, priority FROM tickets WHERE status <> 'closed'
      %{if page.after != null} AND id > ${page.after.id} %{endif}
      ORDER BY id LIMIT ${page.limit}
    SQL
  }
}

tool "close_ticket" {
  description = "Close one ticket. A ticket of high priority needs an approval."
  input "id" { type = integer("Number of the ticket", { min = 1 }) }
  idempotency {}
  step "ticket" {
    sql "desk" { query = "SELECT priority FROM tickets WHERE id = ${input.id} AND status <> 'closed'" }
    expect "There is no such open ticket." { that = "output.row != null" }
  }
  step "high" {
    when = "step.ticket.row.priority == 'high'"
    tool "close_high_ticket" { id = input.id }
  }
  step "other" {
    when = "step.ticket.row.priority != 'high'"
    sql "desk" { exec = "UPDATE tickets SET status = 'closed' WHERE id = ${input.id} AND priority <> 'high'" }
    expect "The priority of the ticket has changed." { that = "output.affected == 1" }
  }
  text = "Ticket ${input.id} is closed."
}

tool "close_high_ticket" {
  description = "Close one ticket of any priority."
  listed      = false
  input "id" { type = integer("Number of the ticket", { min = 1 }) }
  approval { message = "Close ticket ${input.id}, whose priority is high." }
  sql "desk" { exec = "UPDATE tickets SET status = 'closed' WHERE id = ${input.id}" }
}

test "addresses are masked, in CSV" {
  tool = "list_open_tickets"
  mock "sql" "desk" { init = "INSERT INTO tickets VALUES (1, 'ada@shop.example', 'low', 'open')" }
  expect {
    text = "id,email,priority\n1,a***@shop.example,low\n"
    that = "sent[0].args == [3]"
  }
}

test "the second page begins after the first" {
  tool = "list_open_tickets"
  page = 2
  caller { groups = ["support"] }
  mock "sql" "desk" {
    init = <<-SQL
      INSERT INTO tickets VALUES (1, 'a@shop.example', 'low', 'open'), (2, 'b@shop.example', 'low', 'open'),
        (3, 'c@shop.example', 'high', 'open')
    SQL
  }
  expect { that = "map(csvdecode(text), .email) == ['c@shop.example']" }
}

test "others close nothing" {
  tool = "close_ticket"
  args = { id = 1 }
  expect { denied = "support_closes" }
}

test "a ticket of high priority is closed after an approval" {
  tool = "close_ticket"
  args = { id = 1 }
  caller { groups = ["support"] }
  mock "sql" "desk" { init = "INSERT INTO tickets VALUES (1, 'ada@shop.example', 'high', 'open')" }
  answer { approve = true }
  expect {
    approval = true
    text     = "Ticket 1 is closed."
  }
}

test "a ticket of high priority that nobody approves stays open" {
  tool = "close_ticket"
  args = { id = 1 }
  caller { groups = ["support"] }
  mock "sql" "desk" { init = "INSERT INTO tickets VALUES (1, 'ada@shop.example', 'high', 'open')" }
  answer { approve = false }
  after "ticket" {
    sql "desk" { query = "SELECT status FROM tickets WHERE id = 1" }
  }
  expect {
    error_matches = "it was rejected"
    that          = "after.ticket.row.status == 'open'"
  }
}

test "another ticket is closed at once" {
  tool = "close_ticket"
  args = { id = 1 }
  caller { groups = ["support"] }
  mock "sql" "desk" { init = "INSERT INTO tickets VALUES (1, 'ada@shop.example', 'low', 'open')" }
  expect {
    approval = false
    text     = "Ticket 1 is closed."
  }
}
