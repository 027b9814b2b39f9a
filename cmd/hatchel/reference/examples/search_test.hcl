tool "list_overdue" {
  description = "List invoices that are not paid."
  sql "shop" { query = "SELECT number FROM invoices WHERE NOT paid" }
}
tool "get_order" {
  description = "Read an order with its items."
  input "id" { type = integer("Number of the order") }
  sql "shop" { query = "SELECT * FROM items WHERE order_id = ${input.id}" }
}

toolset "all" {
  tools = ["*"]
  search { areas = "Invoices and orders." }
}

search_test "Who has not paid?" {
  toolset = "all"
  finds   = ["list_overdue"]
}
