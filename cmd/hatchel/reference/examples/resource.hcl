resource "terms" {
  uri  = "shop://terms"
  text = "Orders are paid within 14 days."
}

resource "order" {
  uri_template = "shop://orders/{id}"
  description  = "One order by its number."
  input "id" { type = integer }
  sql "shop" {
    query = "SELECT id, status, total FROM orders WHERE id = ${input.id}"
  }
}
