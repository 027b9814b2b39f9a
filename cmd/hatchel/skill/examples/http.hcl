# A tool that asks an HTTP API. The token is a secret: it is read from the environment, and never written here.

secret "shop_token" { env = "SHOP_TOKEN" }

connection "http" "shop" {
  base_url = "https://shop.example/v1"
  auth { bearer = secret.shop_token }
}

tool "get_order" {
  description = "Get one order with its status and total. Use it when the user names an order number."
  input "id" { type = integer("Number of the order", { min = 1 }) }
  http "shop" { get = "/orders/${input.id}" }
  result = "{id: output.body.id, status: output.body.status, total: output.body.total}"
}

test "an order is shown without what the service adds" {
  tool = "get_order"
  args = { id = 7 }
  mock "http" "shop" {
    get = "/orders/7"
    reply { json = { id = 7, status = "paid", total = 310, internal = "x" } }
  }
  expect { result = { id = 7, status = "paid", total = 310 } }
}

test "an unknown order is a failure that the model can read" {
  tool = "get_order"
  args = { id = 8 }
  mock "http" "shop" {
    get = "/orders/8"
    reply { status = 404 }
  }
  expect { error = "the service returned 404 Not Found" }
}
