server {
  name    = "bank"
  default = "deny"
  limit { concurrency = 20 }
}
auth {
  api_key "desk" {
    sha256 = "71a1f66375991626e6d07831b20c860903ee8227d96290ae42571908c3331f89"
    scopes = ["read"]
  }
}
secret "hook" { env = "HOOK" }
secret "password" { env = "PASSWORD" }
webhook "ops" {
  url    = "https://ops.example/hooks"
  secret = secret.hook
}
connection "postgres" "bank" { url = "postgres://reader:${secret.password}@bank.example/bank?sslmode=verify-full" }
connection "shell" "ops" {
  command = ["report"]
  sandbox { read = ["conf"] }
}
tool "accounts" {
  description = "List the accounts of the caller."
  allow       = "'clients' in caller.groups"
  cache { ttl = "10m" }
  locals {
    me    = caller.subject
    paths = { own = "own", all = "all" }
  }
  input "city" {
    type = string("City", { pattern = "^[a-z]+$" })
    complete {
      sql "bank" { query = "SELECT city FROM cities WHERE owner = ${caller.subject} AND city LIKE ${input.city}" }
    }
  }
  step "list" {
    sql "bank" { query = "SELECT id FROM accounts WHERE owner = ${local.me} AND city = ${input.city}" }
    expect "too many" { that = "len(output.rows) < 50" }
  }
  result = "step.list.rows"
}
tool "transfer" {
  description = "Move money."
  allow       = "'clients' in caller.groups"
  scopes      = ["write"]
  limit { rate = "10/h" }
  idempotency { ttl = "24h" }
  input "to" {
    type      = string("Account", { pattern = "^[0-9]+$" })
    sensitive = true
  }
  input "amount" { type = number("Amount", { above = 0 }) }
  approval {
    when = "input.amount > 100"
    by   = "operator"
  }
  step "sure" {
    ask "sure" {
      elicit { message = "Move ${input.amount}?" }
    }
  }
  step "owner" {
    sql "bank" { query = "SELECT owner FROM accounts WHERE id = ${input.to}" }
    expect "not yours" { that = "output.row?.owner == caller.subject" }
  }
  step "move" {
    when = "step.owner.row?.owner == caller.subject"
    sql "bank" { exec = "UPDATE accounts SET amount = amount - ${input.amount} WHERE id = ${input.to}" }
  }
  text = "Done."
}
tool "nightly" {
  description = "Write the report of the night."
  allow       = "'staff' in caller.groups"
  task {
    ttl    = "2h"
    notify = ["ops"]
  }
  step "run" {
    shell "ops" {
      command = ["--night"]
      env     = { LANG = "C" }
      stdin   = "mode=read"
    }
  }
  step "again" {
    tool "accounts" { city = "turku" }
  }
  text = "Done."
}
resource "account" {
  uri_template = "bank://{id}"
  description  = "An account."
  allow        = "'clients' in caller.groups"
  sql "bank" { query = "SELECT id FROM accounts WHERE id = ${input.id} AND owner = ${caller.subject}" }
}
prompt "letter" {
  description = "Write a letter."
  argument "name" { type = string("Name") }
  step "rows" {
    sql "bank" { query = "SELECT id FROM accounts WHERE owner = ${caller.subject}" }
  }
  message "user" { text = "Write to ${input.name} about ${length(step.rows.rows)} accounts." }
}
toolset "staff" { tools = ["night*"] }
policy "desk" {
  tools   = ["transfer"]
  approve = "input.amount > 1000"
  approval { by = "operator" }
}
