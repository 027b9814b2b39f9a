test "invoices are saved as a file" {
  tool = "save_csv"
  args = { filename = "march-2026", rows = [{ date = "2026-03-01", amount = 12.5, vendor = "Acme" }] }
  expect { text_matches = "march-2026.csv \\(1 rows\\)$" }
}

test "the revenue of a period" {
  tool = "revenue_report"
  each = { all = [], one = ["Acme"] }
  args = { from = "2026-01-01", to = "2026-12-31", vendors = each.value }
  mock "sql" "ledger" {
    init = "INSERT INTO invoices (date, amount, vendor) VALUES ('2026-03-01', 10, 'Acme'), ('2026-03-02', 5, 'Acme'), ('2025-03-02', 7, 'Acme')"
  }
  expect { contains = [{ vendor = "Acme", revenue = 15 }] }
}

test "a period ends after it begins" {
  tool = "revenue_report"
  args = { from = "2026-02-01", to = "2026-01-01" }
  expect { error_matches = "must not be after" }
}

test "the revenue of a year is written to a file" {
  tool = "export_report"
  args = { year = 2026 }
  mock "sql" "ledger" { init = "INSERT INTO invoices (date, amount, vendor) VALUES ('2026-03-01', 10, 'Acme')" }
  expect { text_matches = "revenue-2026.csv \\(4 vendors\\)$" }
}

test "a year without invoices" {
  tool = "export_report"
  args = { year = 2001 }
  mock "sql" "ledger" { init = "" }
  expect { error_matches = "there are no invoices in that year" }
}

test "a file that does not exist is not imported" {
  tool = "import_csv"
  args = { filename = "no-such-file" }
  expect { error_matches = "no-such-file" }
}
