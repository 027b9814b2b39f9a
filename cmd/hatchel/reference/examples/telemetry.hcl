auth {
  jwt {
    issuer   = "https://id.example"
    audience = "https://tools.example/mcp"
  }
}

telemetry {
  metrics {
    listen = "0.0.0.0:9464"
    allow  = "'metrics' in caller.groups"
  }
  otlp {
    endpoint = "https://collector.example:4318"
    headers  = { x-api-key = secret.collector }
    traces   = 0.05
    trust    = "'agents' in caller.groups"
    burst    = 100
  }
}

secret "collector" { env = "COLLECTOR_KEY" }

tool "refund" {
  description = "Refund an order."
  input "order" { type = integer }
  http { post = "https://shop.example/orders/${input.order}/refunds" }
}
