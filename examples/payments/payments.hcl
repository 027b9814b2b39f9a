# Payments through a bank: idempotency keys, rate limits, a cache and a circuit breaker. The example has no bank.
# Set one with --var bank_url=…, or look at the requests with hatchel call --dry-run.

server {
  name         = "payments"
  version      = "1.0.0"
  instructions = "Payments of orders. If the answer to a payment was lost, repeat it with the same idempotency_key."
  limit { concurrency = 20 }
}

# Metrics for Prometheus: curl http://127.0.0.1:8080/metrics. The dashboard and alerts are in examples/grafana.
telemetry {
  metrics {}
}

variable "bank_url" {
  type        = string
  default     = "http://127.0.0.1:8091"
  description = "Base URL of the bank."
}

connection "http" "bank" {
  base_url    = var.bank_url
  timeout     = "10s"
  concurrency = 8
  breaker {
    failures = 3
    window   = "30s"
    cooldown = "1m"
  }
}

tool "pay_order" {
  description = "Pay an order. To repeat it after a lost answer, send the same idempotency_key."
  input "order" { type = integer("Order number", { min = 1 }) }
  input "amount" { type = integer("In cents", { min = 1 }) }
  idempotency { ttl = "24h" }
  limit {
    rate     = "10/m"
    burst    = 3
    queue    = 5
    max_wait = "20s"
  }

  http "bank" {
    post = "/payments"
    json = { order = input.order, amount = input.amount }
  }
}

tool "exchange_rate" {
  description = "Get the exchange rate of a currency to the euro."
  input "currency" { type = string("Three letters", { pattern = "^[A-Z]{3}$" }) }
  cache {
    ttl   = "5m"
    scope = "public"
  }

  http "bank" {
    get = "/rates/${input.currency}"
  }
}
