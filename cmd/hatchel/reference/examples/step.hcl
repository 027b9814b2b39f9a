tool "pay_order" {
  description = "Mark an order as paid, if it is open."
  input "id" { type = integer("Order number") }
  step "order" {
    sql "shop" {
      query = "SELECT status FROM orders WHERE id = ${input.id}"
    }
    expect "there is no such order" { that = "output.row != null" }
  }
  step "pay" {
    when = "step.order.row.status == 'open'"
    sql "shop" {
      exec = "UPDATE orders SET status = 'paid' WHERE id = ${input.id}"
    }
  }
  text = step.pay == null ? "Not open." : "Order ${input.id} is paid."
}
