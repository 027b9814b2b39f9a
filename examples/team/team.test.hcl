# One test for each rule of policies.hcl, both ways.

test "every known caller may read" {
  tool = "invoice_list"
  caller {
    subject = "eva"
    groups  = ["sales"]
  }
  mock "sql" "ledger" { init = "" }
  expect { contains = [{ id = 2, vendor = "Blue Harbor Logistics", amount = 25000, paid = null }] }
}

test "an unknown caller reads nothing" {
  tool = "invoice_list"
  expect { denied = "reading" }
}

test "finance pays an invoice" {
  tool = "invoice_pay"
  args = { id = 3, amount = 310 }
  caller {
    subject = "bob"
    groups  = ["finance"]
  }
  mock "sql" "ledger" { init = "" }
  after "invoice" {
    sql "ledger" { query = "SELECT paid FROM invoices WHERE id = 3" }
  }
  expect {
    text = "Invoice 3 is paid."
    that = "after.invoice.row.paid == 'bob'"
  }
}

test "an invoice is paid once" {
  tool = "invoice_pay"
  args = { id = 3, amount = 310 }
  caller {
    subject = "bob"
    groups  = ["finance"]
  }
  mock "sql" "ledger" { init = "UPDATE invoices SET paid = 'ada'" }
  expect { error = "there is no unpaid invoice with this number and amount" }
}

test "only the board pays large invoices" {
  tool = "invoice_pay"
  args = { id = 2, amount = 25000 }
  caller { groups = ["finance"] }
  expect { denied = "large" }
}

test "the board pays large invoices" {
  tool = "invoice_pay"
  args = { id = 2, amount = 25000 }
  caller { groups = ["finance", "board"] }
  mock "sql" "ledger" { init = "" }
  expect { text = "Invoice 2 is paid." }
}

test "sales pays nothing" {
  tool = "invoice_pay"
  args = { id = 3, amount = 310 }
  caller { groups = ["sales"] }
  expect { denied = "finance" }
}

test "the board deletes an invoice" {
  tool = "invoice_delete"
  args = { id = 1 }
  caller { groups = ["finance", "board"] }
  mock "sql" "ledger" { init = "" }
  after "left" {
    sql "ledger" { query = "SELECT id FROM invoices" }
  }
  expect { that = "map(after.left.rows, .id) == [2, 3]" }
}

test "finance deletes nothing" {
  tool = "invoice_delete"
  args = { id = 1 }
  caller { groups = ["finance"] }
  expect { denied = "finance" }
}

test "payments are counted by person" {
  resource = "team://payments"
  caller { subject = "eva" }
  mock "sql" "ledger" { init = "UPDATE invoices SET paid = 'bob' WHERE amount < 1000" }
  expect { text_matches = "\"bob\",\"invoices\":2,\"amount\":950" }
}
