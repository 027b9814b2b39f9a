test "a small refund is paid at once" {
  tool = "refund"
  args = { customer = "Blue Harbor", amount = 20, iban = "DE02120300000000202051" }
  mock "sql" "shop" { init = "" }
  after "paid" {
    sql "shop" { query = "SELECT amount FROM refunds" }
  }
  expect {
    text     = "Refunded 20 euros to Blue Harbor."
    approval = false
    that     = "after.paid.row.amount == 20"
  }
}

test "a large refund waits for an operator" {
  tool = "refund"
  args = { customer = "Blue Harbor", amount = 200, iban = "DE02120300000000202051" }
  expect { approval = true }
  expect { that = "sent == []" }
}

test "an operator approves a large refund" {
  tool = "refund"
  args = { customer = "Blue Harbor", amount = 200, iban = "DE02120300000000202051" }
  answer { approve = true }
  mock "sql" "shop" { init = "" }
  expect { text = "Refunded 200 euros to Blue Harbor." }
}

test "an operator rejects a large refund" {
  tool = "refund"
  args = { customer = "Blue Harbor", amount = 200, iban = "DE02120300000000202051" }
  answer { approve = false }
  expect { error_matches = "" }
}

test "an account has a form" {
  tool = "refund"
  args = { customer = "Blue Harbor", amount = 20, iban = "x" }
  expect { refused = "iban" }
}

test "a customer is forgotten" {
  tool = "forget_customer"
  args = { customer = "Blue Harbor" }
  answer { approve = true }
  mock "sql" "shop" { init = "INSERT INTO refunds (customer, amount, iban) VALUES ('Blue Harbor', 20, 'x')" }
  after "left" {
    sql "shop" { query = "SELECT count(*) AS n FROM refunds" }
  }
  expect { that = "after.left.row.n == 0" }
}

test "refunds are listed" {
  tool = "refunds"
  mock "sql" "shop" { init = "INSERT INTO refunds (customer, amount, iban) VALUES ('Blue Harbor', 20, 'x')" }
  expect { result = [{ customer = "Blue Harbor", amount = 20 }] }
}
