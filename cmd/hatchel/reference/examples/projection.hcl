tool "list_orders" {
  description = "List the orders of a day."
  input "day" { type = string({ format = "date" }) }
  format     = ["csv", "json"]
  max_tokens = 4000
  projection {
    offer   = ["id", "status", "total", "notes"]
    default = ["id", "status", "total"]
  }
  sql "shop" {
    query = "SELECT * FROM orders WHERE day = ${input.day}"
  }
}
