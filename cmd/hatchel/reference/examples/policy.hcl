tool "order_cancel" {
  description = "Cancel an order."
  input "id" { type = integer }
  sql "shop" { exec = "DELETE FROM orders WHERE id = ${input.id}" }
}

policy "sales" {
  tools   = ["order_*"]
  allow   = "'sales' in caller.groups"
  deny    = "tool.destructive && input.id < 1000"
  message = "Old orders are kept. Ask the sales team about newer ones."
}
