# The database of a test is in memory. schema.sql fills it, so that no test needs rows of its own.

test "tickets are CSV with the default members" {
  tool = "list_tickets"
  args = {}
  mock "sql" "desk" { init = "" }
  expect {
    text = <<-TEXT
      id,opened,title
      102,2026-03-03,"VPN drops every hour, from home"
      101,2026-03-02,Label printer prints blank labels
    TEXT
  }
}

test "a caller chooses members and their order" {
  tool = "list_tickets"
  args = { status = "waiting", fields = ["title", "notes"] }
  mock "sql" "desk" { init = "" }
  expect {
    text = <<-TEXT
      title,notes
      Scanner does not charge,""
    TEXT
  }
}

test "a table without rows has its header" {
  tool = "list_tickets"
  args = { status = "waiting" }
  mock "sql" "desk" { init = "DELETE FROM tickets" }
  expect { text = "id,opened,title\n" }
}

test "a caller chooses JSON" {
  tool = "list_tickets"
  args = { status = "closed", fields = ["id"], format = "json" }
  mock "sql" "desk" { init = "" }
  expect { result = [{ id = 120 }] }
}

test "members that are not offered are refused" {
  tool = "list_tickets"
  args = { fields = ["password"] }
  expect { refused = "fields" }
}

test "a table for people" {
  tool = "count_tickets"
  args = {}
  mock "sql" "desk" { init = "" }
  expect {
    text = <<-TEXT
      | status | tickets |
      | --- | --- |
      | closed | 1 |
      | open | 2 |
      | waiting | 1 |
    TEXT
  }
}

test "a resource as CSV" {
  resource = "desk://tickets"
  mock "sql" "desk" { init = "" }
  expect { text_matches = "^id,opened,title\n101," }
}

test "a page has two rows and a cursor" {
  tool = "walk_tickets"
  args = {}
  mock "sql" "desk" { init = "" }
  expect { that = "map(result.rows, .id) == [110, 102] && result.next_cursor != nil" }
}

test "a cursor of another call is refused" {
  tool = "walk_tickets"
  args = { cursor = "AAAAAAAAAAAAAAAA" }
  expect { error_matches = "^cursor is not valid for this call" }
}

test "the second page goes on after the first, and is the last" {
  tool = "walk_tickets"
  args = {}
  page = 2
  mock "sql" "desk" { init = "" }
  expect { that = "map(result.rows, .id) == [101, 120] && result.next_cursor == nil" }
}
