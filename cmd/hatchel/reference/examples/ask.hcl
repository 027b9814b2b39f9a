tool "cancel_order" {
  description = "Cancel an order. The user confirms it."
  input "id" { type = integer("Order number") }
  step "user" {
    ask "sure" {
      timeout = "2m"
      elicit { message = "Cancel order ${input.id}?" }
    }
  }
  step "cancel" {
    sql "shop" {
      exec = "UPDATE orders SET status = 'cancelled' WHERE id = ${input.id}"
    }
  }
  text = "Order ${input.id} is cancelled."
}
