tool "find_orders" {
  description = "Find orders by what they cost."
  input "least" { type = number("The least total", { min = 0 }) }
  input "status" {
    type        = optional(enum("open", "paid"), "open")
    description = "Only orders of this status"
  }
  sql "shop" {
    query = <<-SQL
      SELECT id FROM orders
      WHERE total >= ${input.least} AND status = ${input.status}
    SQL
  }
}
