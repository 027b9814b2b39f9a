tool "list_orders" {
  description = "List the latest orders."
  sql "shop" {
    query = "SELECT id, day, total FROM orders ORDER BY id DESC LIMIT 100"
  }
  returns = list(object({
    id    = integer
    day   = string({ format = "date" })
    total = number
  }))
  view "table" {
    title  = "Orders"
    sort   = "-day"
    filter = true
  }
}
tool "orders_by_day" {
  description = "Count the orders of each day."
  sql "shop" {
    query = "SELECT day, COUNT(*) AS orders FROM orders GROUP BY day"
  }
  returns = list(object({ day = string, orders = integer }))
  view "chart" {
    kind = "bar"
    x    = "day"
    y    = ["orders"]
  }
}
