server {
  name         = "shop"
  version      = "1.2.0"
  instructions = "Orders of the shop. Ask before you pay."
}
auth {
  headers = ["x-tenant"]
  api_key "ann" {
    sha256  = "71a1f66375991626e6d07831b20c860903ee8227d96290ae42571908c3331f89"
    groups  = ["billing"]
    expires = "2099-01-01T00:00:00Z"
  }
  api_key "ci" { secret = secret.ci_key }
  jwt {
    issuer          = "https://id.example"
    audience        = "https://tools.example/mcp"
    jwks            = "https://id.example/keys"
    required_scopes = ["tools"]
  }
}
approvals { allow = "'board' in caller.groups" }
audit { file = "audit.jsonl" }
webhook "ops" {
  url    = "https://ops.example/hooks"
  secret = secret.hook
}
secret "shop_token" { env = "SHOP_TOKEN" }
secret "ci_key" { env = "CI_KEY" }
secret "hook" { env = "HOOK" }
webhook "other" {
  url    = "https://other.example/hooks"
  secret = secret.hook
}
variable "shop_url" {
  type    = string
  default = "https://shop.example/api"
}
connection "http" "shop" {
  base_url = var.shop_url
  headers  = { X-User = caller.subject, X-Role = "reader" }
  auth {
    oauth2 {
      token_url     = "https://id.example/token"
      client_id     = "tools"
      client_secret = secret.shop_token
      scopes        = ["orders:read"]
    }
  }
}
connection "sqlite" "ledger" {
  file = "ledger.db"
  mode = "ro"
}
connection "sqlite" "log" {
  file = "log.db"
}
connection "shell" "ops" {
  command = ["kubectl", "--context", "test"]
  env     = { PATH = "/usr/bin", LANG = "C" }
}
tool "order" {
  description = "Read one order. Use it when the customer names a number."
  input "id" { type = integer("Number of the order", { min = 0 }) }
  input "note" { type = optional(string("Note", { max_length = 80 })) }
  check "only small numbers" { that = "input.id < 1000000" }
  http "shop" {
    get     = "/orders/${input.id}"
    headers = { X-Note = input.note }
  }
}
tool "invoices" {
  description = "List the invoices of a customer."
  scopes      = ["invoices:read"]
  input "customer" { type = string("Customer") }
  sql "ledger" { query = "SELECT id, total FROM invoices WHERE customer = ${input.customer}" }
}
tool "refund" {
  description = "Refund an order."
  input "order" { type = integer("Number") }
  input "amount" { type = number("Amount", { above = 0 }) }
  limit { rate = "10/h" }
  approval {
    when    = "input.amount > 100"
    message = "Refund ${input.amount} for order ${input.order}."
    notify  = ["ops"]
  }
  sql "log" { exec = "INSERT INTO refunds (id, amount) VALUES (${input.order}, ${input.amount})" }
  text = "Refunded ${input.amount}."
}
tool "pods" {
  description = "List the pods of a namespace."
  input "namespace" { type = enum({ web = "The shop", data = "The databases" }) }
  shell "ops" {
    command = ["get", "pods", "--namespace=${input.namespace}"]
  }
}
tool "report" {
  description = "Count the lines of the log."
  shell {
    script = "wc -l < log.txt"
    sandbox {
      read = ["conf"]
    }
  }
}
tool "export" {
  description = "Write a report to a file."
  input "name" { type = string("Name", { pattern = "^[a-z]+$" }) }
  file {
    directory = "reports"
    write     = "${input.name}.txt"
    content   = "report"
  }
}
prompt "review" {
  description = "Review an order."
  argument "order" { type = string("Number of the order") }
  message "user" { text = "Review the order ${input.order}." }
}
toolset "reading" { tools = ["order", "invoices"] }
policy "office" {
  tools   = ["refund"]
  deny    = "!('billing' in caller.groups)"
  message = "Only billing refunds."
}
tool "graph" {
  description = "Ask the graph of the shop."
  locals { act = { verb = "show" } }
  input "id" { type = string("Id", { pattern = "^[0-9]+$" }) }
  http "shop" {
    post    = "/graphql/${local.act.verb}"
    query   = { action = local.act.verb, trace = "off", id = input.id }
    headers = { X-HTTP-Method-Override = "GET", X-Trace-Token = "abc" }
    json = merge({
      query     = "query Order($id: ID!) { order(id: $id) { total } }"
      variables = { id = input.id, limit = 10 }
    }, pick(input, "id"))
  }
}

on "tool_result" {
  tools  = ["refund"]
  when   = "event.outcome == 'failed'"
  notify = ["ops"]
  limit  = "1/h"
}
