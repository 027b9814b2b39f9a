tool "order_count" {
  description = "How many orders there are."
  sql "shop" { query = "SELECT count(*) AS orders FROM orders" }
}

toolset "reports" {
  instructions = "Nothing can be changed here."
  tools        = ["order_*"]
}
