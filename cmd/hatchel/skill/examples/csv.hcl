# A tool that writes a CSV file into a directory. The name comes from the caller, and cannot leave the directory. The directory exports must exist.

tool "save_csv" {
  description = "Save invoices as a CSV file for the accountants."
  input "filename" { type = string("Name without extension", { pattern = "^[A-Za-z0-9_-]{1,60}$" }) }
  input "rows" {
    type        = list(object({ date = string({ format = "date" }), vendor = string, amount = number }))
    description = "The invoices, one object for each"
    min_items   = 1
  }
  csv {
    directory = "exports"
    file      = "${input.filename}.csv"
    rows      = input.rows
  }
}

test "the rows are written" {
  tool = "save_csv"
  args = { filename = "march", rows = [{ date = "2026-03-01", vendor = "Acme", amount = 12.5 }] }
  expect { result = { path = "exports/march.csv", count = 1 } }
}

test "a name cannot leave the directory" {
  tool = "save_csv"
  args = { filename = "../x", rows = [{ date = "2026-03-01", vendor = "Acme", amount = 1 }] }
  expect { refused = "filename" }
}
