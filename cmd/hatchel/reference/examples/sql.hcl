tool "list_orders" {
  description = "List the orders of a customer, the newest first."
  input "customer" { type = integer("Number of the customer") }
  input "status" { type = optional(enum("open", "paid")) }
  sql "shop" {
    query = <<-SQL
      SELECT id, status, total FROM orders
      WHERE customer = ${input.customer}
      %{if input.status != null} AND status = ${input.status} %{endif}
      ORDER BY id DESC LIMIT 50
    SQL
  }
}

tool "pay_order" {
  description = "Mark an open order as paid."
  input "id" { type = integer("Order number") }
  sql "shop" {
    exec = <<-SQL
      UPDATE orders SET status = 'paid'
      WHERE id = ${input.id} AND status = 'open'
    SQL
  }
  expect "There is no open order with this number." {
    that = "output.affected == 1"
  }
  text = "Order ${input.id} is paid."
}
