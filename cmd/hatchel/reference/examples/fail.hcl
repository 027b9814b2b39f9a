tool "ship_order" {
  description = "Say that an order is on its way."
  input "id" { type = integer("Order number") }
  step "order" {
    sql "shop" {
      query = "SELECT status FROM orders WHERE id = ${input.id}"
    }
  }
  step "unpaid" {
    when = "step.order.row?.status != 'paid'"
    fail {
      message = "Order ${input.id} is not paid. Ask for it first."
    }
  }
  step "ship" {
    sql "shop" {
      exec = "UPDATE orders SET status = 'shipped' WHERE id = ${input.id}"
    }
  }
  text = "Order ${input.id} is on its way."
}
