auth {
  jwt {
    issuer   = "https://id.example"
    audience = "https://tools.example/mcp"
  }
}

console {
  allow     = "'ops' in caller.groups"
  try       = "call"
  title     = "Payments, production"
  colour    = "red"
  trace_url = "https://tempo.example/trace/{trace_id}"
}

tool "refund" {
  description = "Refund an order."
  input "order" { type = integer }
  http { post = "https://shop.example/orders/${input.order}/refunds" }
}
