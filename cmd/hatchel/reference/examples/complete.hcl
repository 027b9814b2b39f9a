tool "orders_of" {
  description = "The orders of a customer in one city."
  input "city" {
    type     = string
    complete = ["Lyon", "Porto", "Turku"]
  }
  input "customer" {
    type = string
    complete {
      sql "shop" {
        query = <<-SQL
          SELECT DISTINCT customer FROM orders
          WHERE customer LIKE ${input.customer} || '%'
          %{if input.city != null} AND city = ${input.city} %{endif}
        SQL
      }
    }
  }
  sql "shop" {
    query = <<-SQL
      SELECT id FROM orders
      WHERE customer = ${input.customer} AND city = ${input.city}
    SQL
  }
}
