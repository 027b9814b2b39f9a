secret "orders" { env = "ORDERS_TOKEN" }

connection "http" "orders" {
  base_url = "https://orders.example/api"
  timeout  = "10s"
  auth { bearer = secret.orders }
  retry { attempts = 3 }
}
