# Invoices as CSV files on a shared drive, and a ledger in SQLite. It runs as it is: the ledger is created from schema.sql.

server {
  name         = "finance-tools"
  version      = "1.0.0"
  instructions = "Invoices of the finance team. Amounts are in euros. Reports come from the ledger; files are on the shared drive."
}

variable "invoice_dir" {
  type        = string
  default     = "invoices"
  description = "Directory of the shared drive from which invoice files are imported and to which they are saved."
}

connection "sqlite" "ledger" {
  file = "ledger.db"
  init = file("schema.sql")
}

type "invoice" {
  is = object({
    date   = string("Invoice date", { format = "date" })
    amount = number("Total")
    vendor = string("Supplier", { max_length = 80 })
  })
}

tool "save_csv" {
  description = "Save parsed invoice data as a CSV file to the shared drive."
  input "filename" { type = string("Output filename without extension", { pattern = "^[A-Za-z0-9_-]+$" }) }
  input "rows" { type = list(type.invoice) }

  csv {
    directory = var.invoice_dir
    file      = "${input.filename}.csv"
    rows      = input.rows
  }
  text  = "CSV saved to ${output.path} (${output.count} rows)"
  error = "Failed to save CSV: ${error.message}"
}

tool "revenue_report" {
  description = "Revenue per vendor in a period. Use it for questions about totals, not for single invoices."
  input "from" { type = string("First day", { format = "date" }) }
  input "to" { type = string("Last day", { format = "date" }) }
  input "vendors" { type = optional(list(string("Supplier")), []) }
  input "sort" { type = optional(enum("vendor", "revenue"), "revenue") }
  check "`from` must not be after `to`" { that = "input.from <= input.to" }

  sql "ledger" {
    query = <<-SQL
      SELECT vendor, SUM(amount) AS revenue FROM invoices
      WHERE date BETWEEN ${input.from} AND ${input.to}
      %{if length(input.vendors) > 0} AND vendor IN ${input.vendors} %{endif}
      GROUP BY vendor ORDER BY ${ident(input.sort)}
    SQL
  }
  result = "output.rows | filter(.revenue > 0)"
}

tool "export_report" {
  description = "Write the revenue per vendor of one year from the ledger to a CSV file on the shared drive."
  input "year" { type = integer("Calendar year", { min = 2000, max = 2100 }) }

  step "totals" {
    sql "ledger" {
      query = <<-SQL
        SELECT vendor, COUNT(*) AS invoices, SUM(amount) AS revenue FROM invoices
        WHERE date >= ${"${input.year}-01-01"} AND date < ${"${input.year + 1}-01-01"}
        GROUP BY vendor ORDER BY revenue DESC
      SQL
    }
    expect "there are no invoices in that year" { that = "len(output.rows) > 0" }
  }
  step "file" {
    csv {
      directory = var.invoice_dir
      file      = "revenue-${input.year}.csv"
      rows      = step.totals.rows
      columns   = ["vendor", "invoices", "revenue"]
      if_exists = "replace"
    }
  }
  text = "Report saved to ${step.file.path} (${step.file.count} vendors)"
}

tool "import_csv" {
  description = "Import a CSV file with the columns date, amount and vendor from the shared drive into the ledger. Either every row is imported or none."
  input "filename" { type = string("Filename without extension", { pattern = "^[A-Za-z0-9_-]+$" }) }

  step "read" {
    file {
      directory = var.invoice_dir
      read      = "${input.filename}.csv"
      as        = "csv"
    }
  }
  step "store" {
    sql "ledger" {
      each = step.read.rows
      exec = "INSERT INTO invoices (date, amount, vendor) VALUES (${each.value.date}, CAST(${each.value.amount} AS NUMERIC), ${each.value.vendor})"
    }
  }
  text = "Imported ${length(step.read.rows)} invoices from ${input.filename}.csv"
}
