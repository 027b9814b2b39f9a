tool "recount" {
  description = "Count the orders and what they contain."
  step "orders" {
    sql "shop" { query = "SELECT count(*) AS n FROM orders" }
  }
  step "half" {
    progress {
      done    = 1
      total   = 2
      message = "The orders are counted"
    }
  }
  step "lines" {
    sql "shop" { query = "SELECT count(*) AS n FROM order_lines" }
  }
  result = "{orders: step.orders.row?.n, lines: step.lines.row?.n}"
}
