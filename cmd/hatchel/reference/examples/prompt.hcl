prompt "remind" {
  description = "Write a reminder for an order that is not paid."
  argument "id" {
    type        = integer
    description = "Order number"
  }
  sql "shop" {
    query = "SELECT customer, total FROM orders WHERE id = ${input.id}"
  }
  expect "there is no such order" { that = "output.row != null" }
  message "user" {
    text = "Remind ${output.row.customer} to pay ${output.row.total}."
  }
}
