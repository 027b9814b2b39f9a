# Orders of a shop with a REST API, and a ledger of the paid ones in SQLite. `go run ./examples/orders/upstream` starts the shop.

server {
  name         = "orders"
  version      = "1.0.0"
  instructions = "Orders of the shop. Prices are in cents. Look an order up before you change or sync it."
}

# Metrics for Prometheus: curl http://127.0.0.1:8080/metrics. The dashboard and alerts are in examples/grafana.
telemetry {
  metrics {}
}

variable "shop_url" {
  type        = string
  default     = "http://127.0.0.1:8090/api/v1"
  description = "Base URL of the shop."
}

secret "shop_token" {
  env      = "SHOP_TOKEN"
  optional = true
}

connection "http" "shop" {
  base_url = var.shop_url
  timeout  = "10s"
  auth {
    bearer = coalesce(secret.shop_token, "none")
  }
  retry {
    attempts = 3
  }
}

connection "sqlite" "ledger" {
  file = "ledger.db"
  init = file("ledger.sql")
}

type "line" {
  is = object({
    sku      = string("Article number", { pattern = "^[A-Z]{2}-[0-9]{4}$" })
    quantity = integer("How many", { min = 1, max = 100 })
  })
}

type "order" {
  is = object({
    id       = integer
    customer = string
    status   = enum("open", "paid", "shipped", "cancelled")
    total    = integer("In cents")
    date     = string({ format = "date" })
    note     = optional(string("Printed on the delivery note"))
  })
}

tool "list_orders" {
  description = "List orders, newest first, optionally of one status. Reads up to five pages."
  input "status" { type = optional(enum({ open = "Not paid yet", paid = "Paid, not shipped", shipped = "On its way", cancelled = "Cancelled" })) }

  http "shop" {
    get   = "/orders"
    query = { status = input.status, limit = 50 }
    paginate {
      param     = "cursor"
      items     = "output.body.orders"
      next      = "output.body.next"
      max_pages = 5
    }
  }
  result = "{orders: output.items, truncated: output.truncated}"
}

tool "get_order" {
  description = "Get one order by its number."
  input "id" { type = integer("Order number", { min = 1 }) }

  http "shop" {
    get      = "/orders/${input.id}"
    response = type.order
  }
  returns = type.order
  error   = error.status == 404 ? "There is no order ${input.id}." : "The shop did not answer: ${error.message}"
}

tool "create_order" {
  description = "Create an order for a customer. It is open until the customer pays."
  idempotent  = false
  input "customer" { type = string("Name of the customer", { min_length = 1, max_length = 80 }) }
  input "lines" { type = list(type.line, { min_items = 1, max_items = 20 }) }
  input "note" { type = optional(string("Printed on the delivery note", { max_length = 200 })) }

  http "shop" {
    post      = "/orders"
    json      = { customer = input.customer, lines = input.lines, note = input.note }
    ok_status = ["201"]
    response  = type.order
  }
  text = "Order ${output.body.id} created: ${output.body.total} cents for ${output.body.customer}."
}

tool "sync_order" {
  description = "Copy one paid order from the shop into the ledger. An order that is not paid is skipped."
  input "id" { type = integer("Order number", { min = 1 }) }

  step "fetch" {
    http "shop" {
      get      = "/orders/${input.id}"
      response = type.order
    }
  }
  step "store" {
    when = "step.fetch.body.status == 'paid'"
    sql "ledger" {
      exec = <<-SQL
        INSERT INTO invoices (id, date, amount, vendor)
        VALUES (${step.fetch.body.id}, ${step.fetch.body.date}, ${step.fetch.body.total}, ${step.fetch.body.customer})
        ON CONFLICT (id) DO UPDATE SET amount = excluded.amount
      SQL
    }
  }
  text = "Order ${input.id}: ${step.store == null ? "not paid, skipped" : "stored"}."
}

tool "ledger" {
  description = "List the orders that were copied into the ledger."

  sql "ledger" { query = "SELECT id, date, amount, vendor FROM invoices ORDER BY id" }
}
