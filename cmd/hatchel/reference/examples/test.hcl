connection "http" "orders" {
  base_url = "https://orders.example/v1"
  auth { bearer = secret.orders_token }
}
secret "orders_token" { env = "ORDERS_TOKEN" }

tool "get_order" {
  description = "Get an order by its number, with its status."
  input "id" { type = integer("Number of the order", { min = 1 }) }
  http "orders" {
    get = "/orders/${input.id}"
  }
}

test "an order is read with the token" {
  tool = "get_order"
  args = { id = 7 }
  mock "http" "orders" {
    get     = "/orders/7"
    headers = { authorization = "Bearer test-orders_token" }
    reply { json = { id = 7, status = "paid" } }
  }
  expect { result = { id = 7, status = "paid" } }
}

test "an order needs a number" {
  tool = "get_order"
  each = { zero = 0, text = "seven" }
  args = { id = each.value }
  expect { refused = "id" }
}
