# Customers for a help desk: everybody may look them up, and only the group `support` sees how to reach them.
# It runs as it is: the database is created from schema.sql, and `mail` stands for a service that sends letters.

server {
  name         = "customers"
  instructions = "Customers of the shop. What is masked is shown to the support team only."
}

auth {
  api_key "agent" {
    secret = secret.agent_key
    groups = ["agents"]
  }
  api_key "support" {
    secret = secret.support_key
    groups = ["support"]
  }
}

secret "agent_key" { env = "AGENT_KEY" }
secret "support_key" { env = "SUPPORT_KEY" }
secret "pseudonyms" { env = "PSEUDONYMS" }

connection "sqlite" "shop" {
  file = "shop.db"
  init = file("schema.sql")
}

connection "http" "mail" {
  base_url = "http://localhost:8090"
}

mask "contact" {
  members   = ["email", "phone"]
  with      = "partial"
  unless    = "'support' in caller.groups"
  reveal_to = ["mail"]
}

mask "person" {
  members = ["customers.id"]
  with    = "hash"
  key     = secret.pseudonyms
  unless  = "'support' in caller.groups"
}

mask "free_text" {
  detect = ["email", "iban", "card", "phone"]
  unless = "'support' in caller.groups"
}

tool "find_customers" {
  description = "Find customers by a part of their name."
  input "name" { type = string("A part of the name", { min_length = 2 }) }
  sql "shop" {
    query = <<-SQL
      SELECT id, name, email, phone, lower(email) AS sign_in, city FROM customers
      WHERE name LIKE ${"%${input.name}%"} ORDER BY name LIMIT 50
    SQL
  }
}

tool "customer_notes" {
  description = "The notes about customers of a city, as they were written."
  input "city" { type = string("The city where the customers live") }
  sql "shop" {
    query = "SELECT name, note FROM customers WHERE city = ${input.city} ORDER BY name LIMIT 50"
  }
  text = "%{for row in output.rows}${row.name}: ${row.note}\n%{endfor}"
}

tool "send_reminder" {
  description = "Remind a customer by mail of an open invoice. The address stays with the server."
  input "name" { type = string("The whole name") }
  step "to" {
    sql "shop" { query = "SELECT email, open_amount FROM customers WHERE name = ${input.name}" }
    expect "there is no such customer" { that = "output.row != null" }
  }
  step "send" {
    http "mail" {
      post = "/messages"
      json = { to = unmasked(step.to.row.email), text = "Please pay ${step.to.row.open_amount} euros." }
    }
  }
  text = "A reminder was sent to ${step.to.row.email}."
}
