# Statements of PostgreSQL are mocked: no server is needed.

test "a search has only the conditions that it needs" {
  tool = "search_tickets"
  each = {
    all      = { args = {}, statement = "* WHERE status = ANY ($1) ORDER BY *" }
    narrowed = { args = { words = "toner", tags = ["hardware"] }, statement = "* AND title ILIKE *" }
  }
  args = each.value.args
  mock "sql" "desk" {
    statement = each.value.statement
    reply { rows = [{ id = 1, title = "Printer on floor 3 is out of toner" }] }
  }
  expect { contains = [{ id = 1 }] }
}

test "a ticket is opened" {
  tool = "open_ticket"
  args = { title = "No light", tags = ["hardware"] }
  mock "sql" "desk" {
    statement = "INSERT INTO tickets * RETURNING id, opened"
    reply { rows = [{ id = 9, opened = "2026-01-30T10:00:00Z" }] }
  }
  expect { text = "Ticket 9 opened." }
}

test "tickets are closed with a remark" {
  tool = "close_tickets"
  args = { ids = [1, 2], remark = "Done" }
  mock "sql" "desk" {
    statement = "UPDATE tickets *"
    reply { affected = 2 }
  }
  mock "sql" "desk" {
    statement = "INSERT INTO remarks *"
    reply { affected = 2 }
  }
  expect {
    text = "Closed 2 tickets."
    that = "all(sent, .committed)"
  }
}

test "either all tickets are closed or none" {
  tool = "close_tickets"
  args = { ids = [1, 2], remark = "Done" }
  mock "sql" "desk" {
    statement = "UPDATE tickets *"
    reply { affected = 1 }
  }
  mock "sql" "desk" {
    statement = "INSERT INTO remarks *"
    reply { affected = 2 }
  }
  expect {
    error_matches = "closed already"
    that          = "none(sent, .committed)"
  }
}

test "a statement of the caller runs as it is" {
  tool = "query"
  args = { sql = "SELECT count(*) AS n FROM tickets" }
  mock "sql" "desk_ro" {
    statement = "SELECT count(*) AS n FROM tickets"
    reply { rows = [{ n = 2 }] }
  }
  expect { result = [{ n = 2 }] }
}
