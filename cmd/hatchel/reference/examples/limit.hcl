tool "report" {
  description = "All orders of the year."
  limit {
    rate        = "10/m"
    concurrency = 2
    queue       = 5
    max_wait    = "20s"
  }
  sql "shop" {
    query = "SELECT * FROM orders"
  }
}
