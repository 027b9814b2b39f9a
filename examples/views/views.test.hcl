test "the tickets of a status are listed, newest first" {
  tool = "list_tickets"
  args = { status = "waiting" }
  mock "sql" "desk" { init = "" }
  expect { that = "len(result) == 7 && all(result, .status == 'waiting') && result[0].opened >= result[1].opened" }
}

test "a ticket has its notes" {
  tool = "get_ticket"
  args = { id = 1001 }
  mock "sql" "desk" { init = "" }
  expect { that = "result.subject == 'Printer in room 4 does not print' && len(result.notes) == 2" }
}

test "a ticket that does not exist" {
  tool = "get_ticket"
  args = { id = 7 }
  mock "sql" "desk" { init = "" }
  expect { error_matches = "there is no ticket" }
}

test "a chart has a row for each month" {
  tool = "hours_by_month"
  mock "sql" "desk" { init = "" }
  expect { that = "len(result) == 20 && result[0].month == '2025-04'" }
}

test "each team has its tickets" {
  tool = "tickets_by_team"
  mock "sql" "desk" { init = "" }
  expect { that = "map(result, .team) == ['Network', 'Shop', 'Workplace']" }
}

test "a form begins with what the model knows" {
  tool = "new_ticket"
  args = { subject = "VPN" }
  expect { that = "result.subject == 'VPN' && result.team == 'Workplace'" }
}

test "a ticket is opened once for a key" {
  tool = "open_ticket"
  args = { subject = "No network", team = "Network", idempotency_key = "key-1" }
  mock "sql" "desk" { init = "" }
  after "opened" {
    sql "desk" { query = "SELECT COUNT(*) AS n FROM tickets WHERE subject = 'No network'" }
  }
  expect {
    text = "Ticket 1038 was opened for the team Network."
    that = "after.opened.row.n == 1"
  }
}

test "without a status, all tickets are listed" {
  tool = "list_tickets"
  mock "sql" "desk" { init = "" }
  expect { that = "len(result) > 7" }
}
