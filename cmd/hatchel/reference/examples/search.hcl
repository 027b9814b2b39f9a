tool "order_count" {
  description = "How many orders there are."
  sql "shop" { query = "SELECT count(*) AS orders FROM orders" }
}

toolset "all" {
  tools = ["*"]
  search {
    areas  = "Orders, refunds and customers of the shop."
    pinned = ["order_count"]
  }
}
