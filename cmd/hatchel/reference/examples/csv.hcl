tool "save_totals" {
  description = "Save totals as a CSV file."
  input "name" { type = string("Name", { pattern = "^[A-Za-z0-9_-]+$" }) }
  input "rows" { type = list(object({ vendor = string, total = number })) }
  csv {
    directory = "exports"
    file      = "${input.name}.csv"
    rows      = input.rows
  }
}
