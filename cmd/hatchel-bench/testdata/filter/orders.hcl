variable "upstream" { type = string }

connection "http" "orders" {
  base_url = var.upstream
  max_body = 4194304
}

tool "large_orders" {
  description = "Numbers of the orders above a total."
  input "minimum" { type = integer("Smallest total") }
  http "orders" { get = "/orders" }
  result = "output.body.orders | filter(.total >= input.minimum) | map(.id)"
}
