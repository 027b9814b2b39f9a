# The database of a test is in memory. schema.sql fills it, so that no test needs rows of its own.

test "tickets are listed, newest first" {
  tool = "list_tickets"
  each = {
    all          = { args = {}, ids = [110, 102, 101, 120] }
    "one status" = { args = { status = "open" }, ids = [102, 101] }
    department   = { args = { department = "Warehouse" }, ids = [110, 101] }
    both         = { args = { status = "waiting", department = "Warehouse" }, ids = [110] }
  }
  args = each.value.args
  mock "sql" "desk" { init = "" }
  expect { that = "map(result, .id) == each.value.ids" }
}

test "a ticket is closed with what helped" {
  tool = "close_ticket"
  args = { id = 101 }
  answer "closing" { accept = { resolution = "New labels" } }
  mock "sql" "desk" { init = "" }
  after "ticket" {
    sql "desk" { query = "SELECT status, resolution FROM tickets WHERE id = 101" }
  }
  expect {
    text = "Ticket 101 is closed."
    that = "after.ticket.row == {status: 'closed', resolution: 'New labels'}"
  }
}

test "a ticket stays open if the user declines" {
  tool = "close_ticket"
  args = { id = 101 }
  answer "closing" { decline = true }
  mock "sql" "desk" { init = "" }
  after "ticket" {
    sql "desk" { query = "SELECT status FROM tickets WHERE id = 101" }
  }
  expect {
    text = "Ticket 101 was not closed: the user declined."
    that = "after.ticket.row.status == 'open'"
  }
}

test "a closed ticket is not closed again" {
  tool = "close_ticket"
  args = { id = 120 }
  mock "sql" "desk" { init = "" }
  expect { error = "there is no open ticket with this number" }
}

test "the model summarizes a ticket" {
  tool = "summarize_ticket"
  args = { id = 102 }
  answer "summary" { text = "The VPN drops at home." }
  mock "sql" "desk" { init = "" }
  expect { text = "The VPN drops at home." }
}

test "a client without a model gets the notes" {
  tool = "summarize_ticket"
  args = { id = 102 }
  mock "sql" "desk" { init = "" }
  expect { text = "VPN drops every hour Only from home, never in the office." }
}

test "a ticket that does not exist is not summarized" {
  tool = "summarize_ticket"
  args = { id = 1 }
  mock "sql" "desk" { init = "" }
  expect { error = "there is no such ticket" }
}

test "the tickets of a year are exported" {
  tool = "export_tickets"
  args = { year = 2026 }
  mock "sql" "desk" { init = "" }
  expect { text_matches = "^4 tickets of 2026 written to .*2026.csv\\.$" }
}

test "a year without tickets is not exported" {
  tool = "export_tickets"
  args = { year = 2001 }
  mock "sql" "desk" { init = "" }
  expect { error = "there are no tickets in that year" }
}

test "a reply quotes the notes of its ticket" {
  prompt = "reply"
  args   = { ticket = 102, tone = "short" }
  mock "sql" "desk" { init = "" }
  expect {
    text = <<-TEXT
      Write a short reply to Accounting. They have reported: VPN drops every hour.
      Known so far: Only from home, never in the office.
    TEXT
  }
}

test "there is no reply to a ticket that does not exist" {
  prompt = "reply"
  args   = { ticket = 1 }
  mock "sql" "desk" { init = "" }
  expect { error_matches = "there is no such ticket" }
}

test "the runbook is a file" {
  resource = "desk://runbook"
  expect { text_matches = "desk" }
}

test "open tickets are a document, the oldest first" {
  resource = "desk://tickets/open"
  mock "sql" "desk" { init = "" }
  expect { text_matches = "101.*102.*110" }
}

test "a ticket is a document with its notes" {
  resource = "desk://tickets/102"
  mock "sql" "desk" { init = "" }
  expect { text_matches = "Only from home.*VPN drops every hour" }
}

test "a ticket that does not exist is no document" {
  resource = "desk://tickets/1"
  mock "sql" "desk" { init = "" }
  expect { error = "There is no ticket 1" }
}

test "the skill is read as it is written" {
  resource = "skill://triage/references/rules.md"
  expect { text = file("skills/triage/references/rules.md") }
}
