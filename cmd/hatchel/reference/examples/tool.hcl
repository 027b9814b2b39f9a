tool "get_order" {
  description = "Get one order by its number."
  input "id" { type = integer("Order number", { min = 1 }) }
  sql "shop" {
    query = "SELECT id, status FROM orders WHERE id = ${input.id}"
  }
  result      = "output.row"
  meta        = { "anthropic/searchHint" = "purchase, delivery" }
  result_meta = { "example.com/order" = input.id }
}
