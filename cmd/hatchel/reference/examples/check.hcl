tool "revenue" {
  description = "What was sold in a period."
  input "from" { type = string("First day", { format = "date" }) }
  input "to" { type = string("Last day", { format = "date" }) }
  check "`from` must not be after `to`" { that = "input.from <= input.to" }
  sql "shop" {
    query = <<-SQL
      SELECT sum(total) AS revenue FROM orders
      WHERE day BETWEEN ${input.from} AND ${input.to}
    SQL
  }
}
