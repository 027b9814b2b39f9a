secret "shop" { env = "HATCHEL_BENCH_POSTGRES" }

connection "postgres" "shop" {
  url  = secret.shop
  mode = "ro"
}

tool "find_item" {
  description = "Find one item by its number."
  input "id" { type = integer("Which one") }
  sql "shop" {
    query = "SELECT id, name, price FROM hatchel_bench_items WHERE id = ${input.id}"
  }
}
