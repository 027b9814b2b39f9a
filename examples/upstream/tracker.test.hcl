test "a bug becomes an issue of the shop" {
  tool = "report_bug"
  args = { title = "Printer on fire", body = "Smoke." }
  caller { groups = ["shop"] }
  mock "mcp" "tracker" {
    call      = "create_issue"
    arguments = { project = "shop", title = "Printer on fire" }
    reply { structured = { number = 7, url = "https://tracker.example/shop/7" } }
  }
  expect {
    result = { number = 7 }
    that   = "sent[0].arguments.labels == ['agent'] && sent[0].arguments.request_id != ''"
  }
}

test "the tracker refuses a bug" {
  tool = "report_bug"
  args = { title = "Printer on fire", body = "Smoke." }
  caller { groups = ["shop"] }
  mock "mcp" "tracker" {
    call = "create_issue"
    reply { error = "The project is archived." }
  }
  expect { error_matches = "The project is archived" }
}

test "bugs are found" {
  tool = "find_bugs"
  args = { words = "printer" }
  mock "mcp" "tracker" {
    call      = "search_issues"
    arguments = { project = "shop", query = "printer", state = "open" }
    reply { structured = { issues = [{ number = 7, title = "Printer on fire" }] } }
  }
  expect { result = [{ number = 7, title = "Printer on fire" }] }
}

test "the tracker is not there" {
  tool = "find_bugs"
  args = { words = "printer" }
  mock "mcp" "tracker" {
    call = "search_issues"
    reply { fail = "refused" }
    times = 2
  }
  expect { error_matches = "nothing was sent" }
}

test "an open issue is closed" {
  tool = "close_bug"
  args = { number = 7, reason = "Fixed in 1.2." }
  caller { groups = ["shop"] }
  answer { approve = true }
  mock "mcp" "tracker" {
    call = "get_issue"
    reply { structured = { number = 7, title = "Printer on fire", state = "open" } }
  }
  mock "mcp" "tracker" {
    call      = "update_issue"
    arguments = { number = 7, state = "closed", comment = "Fixed in 1.2." }
    reply { text = "done" }
  }
  expect { text = "Closed: Printer on fire" }
}

test "a closed issue stays closed" {
  tool = "close_bug"
  args = { number = 7, reason = "Fixed in 1.2." }
  caller { groups = ["shop"] }
  answer { approve = true }
  mock "mcp" "tracker" {
    call = "get_issue"
    reply { structured = { number = 7, title = "Printer on fire", state = "closed" } }
  }
  expect { error_matches = "the issue is not open" }
}

test "only the shop's team changes issues" {
  tool = "close_bug"
  args = { number = 7, reason = "Fixed in 1.2." }
  caller { groups = ["sales"] }
  expect { denied = "policy.tracker.allow" }
}
