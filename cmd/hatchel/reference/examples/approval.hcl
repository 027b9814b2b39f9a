tool "refund" {
  description = "Refund an order."
  input "order" { type = integer("Order number") }
  input "amount" { type = number("Amount in euros", { above = 0 }) }
  approval {
    when    = "input.amount > 100"
    timeout = "15m"
    message = "Refund ${input.amount} euros for order ${input.order}."
    before "order" {
      sql "shop" {
        query = "SELECT total FROM orders WHERE id = ${input.order}"
      }
    }
  }
  sql "shop" {
    exec = "INSERT INTO refunds VALUES (${input.order}, ${input.amount})"
  }
}

tool "forget_customer" {
  description = "Delete everything that is known of a customer."
  input "name" { type = string }
  approval {
    by      = "caller"
    message = "Forget ${input.name} for good?"
  }
  sql "shop" { exec = "DELETE FROM customers WHERE name = ${input.name}" }
}
