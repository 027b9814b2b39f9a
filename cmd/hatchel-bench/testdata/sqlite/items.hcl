connection "sqlite" "shop" {
  file = "items.db"
  mode = "ro"
}

tool "find_item" {
  description = "Find one item by its number."
  input "id" { type = integer("Which one") }
  sql "shop" {
    query = "SELECT id, name, price FROM items WHERE id = ${input.id}"
  }
}
