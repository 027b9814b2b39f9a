tool "pay" {
  description = "Pay an order."
  input "order" { type = integer }
  idempotency { ttl = "24h" }
  sql "shop" {
    exec = "UPDATE orders SET status = 'paid' WHERE id = ${input.order}"
  }
}
