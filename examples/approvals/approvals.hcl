# Refunds of a shop. Small ones are paid at once, larger ones after an operator has approved them. Deleting a customer needs the user's consent.

server {
  name         = "refunds"
  version      = "1.0.0"
  instructions = "Refunds of the shop. A refund above 100 euros waits for an operator: tell the user so, and do not repeat the call."
}

# Metrics for Prometheus: curl http://127.0.0.1:8080/metrics. The dashboard and alerts are in examples/grafana.
telemetry {
  metrics {}
}

# Pending approvals are posted to a webhook. Without REFUNDS_HOOK_URL the webhook is off; with it, REFUNDS_HOOK is required.
#   REFUNDS_HOOK_URL=https://ops.example/hooks REFUNDS_HOOK=$(openssl rand -base64 32) hatchel serve examples/approvals
secret "hook_url" {
  env      = "REFUNDS_HOOK_URL"
  optional = true
}

secret "hook" {
  env      = "REFUNDS_HOOK"
  optional = true
}

webhook "ops" {
  url    = secret.hook_url # logs show scheme and host only; null turns the webhook off
  secret = secret.hook     # at least 24 characters, or whsec_ followed by base64
}

# Refunds that were paid are posted, too: at most once a minute, with how many they were.
on "tool_result" {
  tools  = ["refund"]
  when   = "event.outcome == 'ok'"
  notify = ["ops"]
}

connection "sqlite" "shop" {
  file = "shop.db"
  init = file("schema.sql")
}

tool "refund" {
  title       = "Refund"
  description = "Pay an amount back to a customer."
  input "customer" { type = string("Name of the customer", { max_length = 80 }) }
  input "amount" { type = number("Amount in euros", { above = 0 }) }
  input "iban" {
    type      = string("Account of the customer", { pattern = "^[A-Z]{2}[0-9]{2}[A-Z0-9]{10,30}$" })
    sensitive = true
  }

  approval {
    when    = "input.amount > 100"
    timeout = "15m"
    message = "Refund ${input.amount} euros to ${input.customer}."
    notify  = ["ops"]
    before "earlier" {
      sql "shop" { query = "SELECT amount FROM refunds WHERE customer = ${input.customer} ORDER BY id DESC LIMIT 5" }
    }
  }

  sql "shop" {
    exec = "INSERT INTO refunds (customer, amount, iban) VALUES (${input.customer}, ${input.amount}, ${input.iban})"
  }
  text = "Refunded ${input.amount} euros to ${input.customer}."
}

tool "forget_customer" {
  description = "Delete all data about a customer."
  input "customer" { type = string("Name of the customer", { max_length = 80 }) }

  approval {
    by      = "caller"
    message = "Delete all data about ${input.customer}?"
  }

  sql "shop" {
    exec = "DELETE FROM refunds WHERE customer = ${input.customer}"
  }
  text = "All data about ${input.customer} is deleted."
}

tool "refunds" {
  description = "List all refunds."
  sql "shop" {
    query = "SELECT customer, amount FROM refunds ORDER BY id"
  }
}
