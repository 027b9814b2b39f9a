test "an order is shown" {
  tool = "order"
  args = { id = 1042 }
  mock "sql" "shop" { init = "" }
  expect { that = "result.customer == 'Ada Lovelace' && result.refunded == 0" }
}

test "an unknown order is named" {
  tool = "order"
  args = { id = 7 }
  mock "sql" "shop" { init = "" }
  expect { error_matches = "there is no such order" }
}

test "a small refund is paid at once" {
  tool = "refund"
  args = { order = 1041, amount = 20 }
  mock "sql" "shop" { init = "" }
  after "paid" {
    sql "shop" { query = "SELECT refunded FROM orders WHERE id = 1041" }
  }
  expect {
    text     = "Refunded 20 euros of order 1041."
    approval = false
    that     = "after.paid.row.refunded == 20"
  }
}

test "a large refund waits for an operator" {
  tool = "refund"
  args = { order = 1042, amount = 250 }
  expect { approval = true }
}

test "an operator approves a large refund" {
  tool = "refund"
  args = { order = 1042, amount = 250, note = "damaged" }
  mock "sql" "shop" { init = "" }
  answer { approve = true }
  expect { text = "Refunded 250 euros of order 1042." }
}

test "a refund needs an order" {
  tool = "refund"
  args = { order = 7, amount = 20 }
  mock "sql" "shop" { init = "" }
  expect { error_matches = "there is no such order" }
}
