# Invoices that several people work with. This file authenticates callers; policies.hcl says who may call what. It runs as it is: the database is
# created from schema.sql.

server {
  name         = "team"
  version      = "1.0.0"
  instructions = "Invoices of the team. Tools that you may not call are not listed."
  default      = "deny"
}

# The keys of this example are key-of-ada-0123456789 and so on. Make yours random. Only their digests are stored: printf %s "$KEY" | sha256sum
auth {
  api_key "ada" {
    sha256 = "71a1f66375991626e6d07831b20c860903ee8227d96290ae42571908c3331f89"
    groups = ["finance", "board"]
  }
  api_key "bob" {
    sha256 = "20e8e0c37a544b9cc85f35fb43667ea85ffaf10a10ad20ce476e0a11f70c2a30"
    groups = ["finance"]
  }
  api_key "eva" {
    sha256 = "3ece85468ba446a8924df88e7c1fa35f6b4752e1c52ef617136ca9943f350471"
    groups = ["sales"]
  }
  jwt {
    issuer       = "https://id.example"
    audience     = "https://tools.example/mcp"
    groups_claim = "groups"
  }
}

connection "sqlite" "ledger" {
  file = "ledger.db"
  init = file("schema.sql")
}

tool "invoice_list" {
  description = "List the invoices, oldest first."
  sql "ledger" { query = "SELECT id, vendor, amount, paid FROM invoices ORDER BY id" }
}

tool "invoice_pay" {
  description = "Pay an invoice in full. The amount must be that of the invoice."
  destructive = false
  input "id" { type = integer("Number of the invoice") }
  input "amount" { type = number("Amount of the invoice", { above = 0 }) }
  sql "ledger" { exec = "UPDATE invoices SET paid = ${caller.subject} WHERE id = ${input.id} AND amount = ${input.amount} AND paid IS NULL" }
  expect "there is no unpaid invoice with this number and amount" { that = "output.affected == 1" }
  text = "Invoice ${input.id} is paid."
}

tool "invoice_delete" {
  description = "Delete an invoice, paid or not. It cannot be restored."
  input "id" { type = integer("Number of the invoice") }
  sql "ledger" { exec = "DELETE FROM invoices WHERE id = ${input.id}" }
  text = "Invoice ${input.id} is deleted."
}

resource "payments" {
  uri         = "team://payments"
  description = "Number and amount of paid invoices by person."
  sql "ledger" { query = "SELECT paid AS person, count(*) AS invoices, sum(amount) AS amount FROM invoices WHERE paid IS NOT NULL GROUP BY paid ORDER BY paid" }
}
