# A shop whose refunds are approved in the console. The guide docs/monitoring.md, "A walk through the console", uses it:
#   hatchel serve examples/console
#   HATCHEL_KEY=key-of-eva-0123456789 hatchel console

server {
  name         = "shop"
  version      = "1.0.0"
  instructions = "Orders of the shop. A refund above 100 euros waits for an operator: tell the user so, and do not repeat the call."
}

# The keys of this example are key-of-eva-0123456789 and key-of-bob-0123456789. Make yours random: hatchel key new.
auth {
  api_key "eva" {
    sha256 = "3ece85468ba446a8924df88e7c1fa35f6b4752e1c52ef617136ca9943f350471"
    groups = ["ops"]
  }
  api_key "bob" {
    sha256 = "20e8e0c37a544b9cc85f35fb43667ea85ffaf10a10ad20ce476e0a11f70c2a30"
    groups = ["support"]
  }
}

# Operators look at the console, follow what happens, and decide about refunds.
console {
  allow     = "'ops' in caller.groups"
  try       = "call"
  title     = "Shop, example"
  colour    = "green"
  trace_url = "http://127.0.0.1:16686/trace/{trace_id}" # of Jaeger on this machine
}

events {
  allow = "'ops' in caller.groups"
}

approvals {
  allow = "'ops' in caller.groups"
}

# Every call is recorded. Traces go to a collector on this machine, if there is one.
audit {
  file = "audit.jsonl"
}

telemetry {
  otlp {
    endpoint = "http://127.0.0.1:4318"
    traces   = 1
  }
}

connection "sqlite" "shop" {
  file = "shop.db"
  init = file("schema.sql")
}

tool "order" {
  title       = "Order"
  description = "Show an order with what was paid back."
  input "id" { type = integer("Number of the order", { min = 1 }) }
  sql "shop" {
    query = "SELECT id, customer, total, refunded FROM orders WHERE id = ${input.id}"
  }
  expect "there is no such order" { that = "output.row != null" }
  result = "output.row"
}

tool "refund" {
  title       = "Refund"
  description = "Pay a part of an order back to its customer."
  input "order" { type = integer("Number of the order", { min = 1 }) }
  input "amount" { type = number("Amount in euros", { above = 0, max = 5000 }) }
  input "note" { type = optional(string("Why", { max_length = 200 })) }

  approval {
    when    = "input.amount > 100"
    timeout = "15m"
    message = "Refund ${input.amount} euros of order ${input.order}."
    before "order" {
      sql "shop" { query = "SELECT customer, total, refunded FROM orders WHERE id = ${input.order}" }
    }
  }

  sql "shop" {
    exec = "UPDATE orders SET refunded = refunded + ${input.amount}, note = ${input.note} WHERE id = ${input.order}"
  }
  expect "there is no such order" { that = "output.affected == 1" }
  text = "Refunded ${input.amount} euros of order ${input.order}."
}
