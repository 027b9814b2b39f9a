prompt "compare" {
  description = "Compare the orders that are open."
  sql "shop" {
    query = "SELECT id, total FROM orders WHERE status = 'open'"
  }
  message "user" { text = "These orders are open:" }
  message "user" {
    each = output.rows
    text = "Order ${each.value.id}: ${each.value.total} euros"
  }
  message "assistant" {
    when = "len(output.rows) == 0"
    text = "No order is open."
  }
}
