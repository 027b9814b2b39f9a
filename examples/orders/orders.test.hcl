test "orders are listed page by page" {
  tool = "list_orders"
  args = { status = "paid" }
  mock "http" "shop" {
    get   = "/orders"
    query = { status = "paid", limit = "50" }
    reply { json = { orders = [{ id = 9 }], next = "c2" } }
  }
  mock "http" "shop" {
    get   = "/orders"
    query = { cursor = "c2" }
    reply { json = { orders = [{ id = 7 }], next = null } }
  }
  expect { result = { orders = [{ id = 9 }, { id = 7 }], truncated = false } }
}

test "an order is read after a failure of the shop" {
  tool = "get_order"
  args = { id = 7 }
  mock "http" "shop" {
    get     = "/orders/7"
    headers = { authorization = "Bearer test-shop_token" }
    reply {
      status  = 503
      headers = { "retry-after" = "0" }
    }
    reply { json = { id = 7, status = "paid", total = 310, customer = "Blue Harbor", date = "2026-01-30" } }
  }
  expect { contains = { id = 7, status = "paid" } }
}

test "an order that does not exist" {
  tool = "get_order"
  args = { id = 8 }
  mock "http" "shop" {
    get = "/orders/8"
    reply { status = 404 }
  }
  expect { error = "There is no order 8." }
}

test "an order is created" {
  tool = "create_order"
  args = { customer = "Blue Harbor", lines = [{ sku = "AB-1234", quantity = 2 }] }
  mock "http" "shop" {
    post = "/orders"
    json = { customer = "Blue Harbor", lines = [{ sku = "AB-1234", quantity = 2 }] }
    reply {
      status = 201
      json   = { id = 10, status = "open", total = 620, customer = "Blue Harbor", date = "2026-01-30" }
    }
  }
  expect { text = "Order 10 created: 620 cents for Blue Harbor." }
}

test "articles have numbers" {
  tool = "create_order"
  args = { customer = "Blue Harbor", lines = [{ sku = "x", quantity = 2 }] }
  expect { refused = "lines[0].sku" }
}

test "a paid order is stored" {
  tool = "sync_order"
  args = { id = 7 }
  mock "http" "shop" {
    get = "/orders/7"
    reply { json = { id = 7, status = "paid", total = 310, customer = "Blue Harbor", date = "2026-01-30" } }
  }
  mock "sql" "ledger" { init = "" }
  after "stored" {
    sql "ledger" { query = "SELECT amount, vendor FROM invoices WHERE id = 7" }
  }
  expect {
    text = "Order 7: stored."
    that = "after.stored.row.amount == 310 && after.stored.row.vendor == 'Blue Harbor'"
  }
}

test "an open order is skipped" {
  tool = "sync_order"
  args = { id = 7 }
  mock "http" "shop" {
    get = "/orders/7"
    reply { json = { id = 7, status = "open", total = 310, customer = "Blue Harbor", date = "2026-01-30" } }
  }
  expect {
    text = "Order 7: not paid, skipped."
    that = "called == ['fetch'] && len(sent) == 1"
  }
}

test "the ledger is listed" {
  tool = "ledger"
  mock "sql" "ledger" { init = "INSERT INTO invoices (id, date, amount, vendor) VALUES (7, '2026-01-30', 310, 'Blue Harbor')" }
  expect { result = [{ id = 7, date = "2026-01-30", amount = 310, vendor = "Blue Harbor" }] }
}
