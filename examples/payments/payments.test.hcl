test "a payment has the key of its call" {
  tool = "pay_order"
  args = { order = 7, amount = 310, idempotency_key = "order-7" }
  mock "http" "bank" {
    post = "/payments"
    json = { order = 7, amount = 310 }
    reply { json = { id = "p1" } }
  }
  expect {
    contains = { id = "p1" }
    that     = "sent[0].headers['idempotency-key'] != ''"
  }
}

test "an amount is positive" {
  tool = "pay_order"
  args = { order = 7, amount = 0 }
  expect { refused = "amount" }
}

test "a rate is read" {
  tool = "exchange_rate"
  args = { currency = "USD" }
  mock "http" "bank" {
    get = "/rates/USD"
    reply { json = { rate = 1.1 } }
  }
  expect { result = { rate = 1.1 } }
}
