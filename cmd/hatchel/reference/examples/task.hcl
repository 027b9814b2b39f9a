tool "wait_for_payment" {
  description = "Wait until an order is paid."
  timeout     = "1h"
  input "id" { type = integer("Order number") }
  task { ttl = "2h" }
  step "paid" {
    sql "shop" {
      query = "SELECT status FROM orders WHERE id = ${input.id}"
    }
    repeat {
      until = "output.row?.status == 'paid'"
      every = "10s"
    }
  }
  text = "Order ${input.id} is paid."
}
