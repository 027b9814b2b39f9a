server {
  name         = "shop"
  version      = "1.2.0"
  instructions = "Orders of the shop."
  default      = "allow"
}

auth {
  api_key "ann" {
    sha256 = "71a1f66375991626e6d07831b20c860903ee8227d96290ae42571908c3331f89"
    groups = ["billing"]
  }
  api_key "bob" {
    sha256 = "20e8e0c37a544b9cc85f35fb43667ea85ffaf10a10ad20ce476e0a11f70c2a30"
  }
  jwt {
    issuer   = "https://id.example"
    audience = "https://tools.example/mcp"
  }
}

variable "shop_url" {
  type    = string
  default = "https://shop.example/api"
}
secret "shop_token" { env = "SHOP_TOKEN" }
secret "other_token" { env = "OTHER_TOKEN" }
locals {
  ledger_file = "ledger.db"
}

connection "http" "shop" {
  base_url = var.shop_url
  auth { bearer = secret.shop_token }
}
connection "http" "mail" {
  base_url = "https://mail.example"
  auth { header = { X-Key = secret.other_token } }
}
connection "sqlite" "ledger" {
  file = local.ledger_file
  mode = "rw"
}
connection "shell" "ops" {
  command = ["kubectl"]
}

tool "order" {
  title       = "One order"
  description = "Read one order with its items. Use it when the customer names a number."
  scopes      = ["orders:read"]
  allow       = "'billing' in caller.groups"
  input "id" { type = integer("Number of the order", { min = 0, max = 1000000 }) }
  input "code" { type = optional(string("Code", { pattern = "^[A-Z]+$", max_length = 8 })) }
  input "state" { type = optional(enum("open", "paid"), "open") }
  input "tags" { type = optional(list(string), []) }
  input "address" { type = optional(object({ street = string, zip = optional(string) })) }
  http "shop" {
    get   = "/orders/${input.id}"
    query = { code = input.code, state = input.state, tags = input.tags, street = try(input.address.street, null) }
    response = object({ id = integer, total = number, note = nullable(string) })
  }
  returns = object({ id = integer, total = number, note = nullable(string), kind = optional(enum("a", "b")) })
  result  = "output.body"
  error   = "The shop does not answer: ${error.message}"
}

tool "pay" {
  description = "Pay an invoice in full."
  destructive = false
  limit {
    rate  = "60/h"
    queue = 5
  }
  approval {
    when = "input.amount > 100"
  }
  input "id" { type = integer("Number") }
  input "amount" { type = number("Amount", { above = 0 }) }
  sql "ledger" {
    exec = "UPDATE invoices SET paid = ${caller.subject} WHERE id = ${input.id} AND amount = ${input.amount}"
  }
  text = "Invoice ${input.id} is paid."
}

tool "report" {
  description = "Write a report of all invoices to a file."
  step "read" {
    sql "ledger" { query = "SELECT i.id, c.name FROM invoices i JOIN customers c ON c.id = i.customer" }
  }
  step "write" {
    file {
      directory = "reports"
      write     = "all.json"
      content   = step.read.rows
    }
  }
  text = "Written."
}

tool "pods" {
  description = "List the pods of a namespace."
  input "namespace" { type = string("Namespace", { pattern = "^[a-z-]+$" }) }
  shell "ops" {
    command = ["get", "pods", "--namespace=${input.namespace}"]
    sandbox {
      read = ["conf"]
    }
  }
}

tool "upload" {
  description = "Store a file of the caller."
  input "doc" { type = file("The file", { max_size = "1MiB", types = ["application/pdf", "image/*"] }) }
  http "shop" {
    post = "/files"
    body = input.doc
  }
}

tool "helper" {
  description = "Count the invoices."
  listed      = false
  sql "ledger" { query = "SELECT count(*) AS n FROM invoices" }
}

prompt "review" {
  description = "Review an order."
  argument "order" { type = string("Number of the order") }
  message "user" { text = "Review the order ${input.order}." }
}

resource "totals" {
  uri         = "shop://totals"
  description = "Totals."
  mime_type   = "application/json"
  sql "ledger" { query = "SELECT sum(amount) AS total FROM invoices" }
}

toolset "reading" {
  tools = ["order", "report"]
}

policy "office" {
  tools = ["pay"]
  deny  = "caller.subject == 'bob'"
}
