connection "http" "orders" { base_url = "https://orders.example/api" }

tool "list_orders" {
  description = "List the orders of a customer, the newest first."
  input "customer" { type = integer("Number of the customer", { min = 1 }) }
  input "status" { type = optional(enum("open", "paid")) }
  http "orders" {
    get   = "/customers/${input.customer}/orders"
    query = { status = input.status, sort = "-id", limit = 50 }
  }
  result = "output.body"
}

tool "cancel_order" {
  description = "Cancel an open order."
  input "id" { type = integer("Order number", { min = 1 }) }
  input "reason" { type = string("Why", { max_length = 200 }) }
  http "orders" {
    post = "/orders/${input.id}/cancel"
    json = { reason = input.reason }
  }
  text = "Order ${input.id} is cancelled."
}
