# Refunds of a shop: small ones are paid at once, larger ones when an operator has agreed, and a customer is forgotten when the user has.

server {
  name         = "refunds"
  version      = "1.0.0"
  instructions = "Refunds of the shop. A refund above 100 waits until an operator has decided: tell the user so, and do not try again."
}

# Operators are told what waits for them where it is said how. Without the first of these there is no webhook; with it, the second must be there.
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
  url    = secret.hook_url # only scheme and host are ever shown; null where it is not set: the webhook is off
  secret = secret.hook     # at least 24 characters as they are, or whsec_ and base64
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
  }

  sql "shop" {
    exec = "INSERT INTO refunds (customer, amount, iban) VALUES (${input.customer}, ${input.amount}, ${input.iban})"
  }
  text = "${input.amount} euros are paid back to ${input.customer}."
}

tool "forget_customer" {
  description = "Delete everything that is known of a customer."
  input "customer" { type = string("Name of the customer", { max_length = 80 }) }

  approval {
    by      = "caller"
    message = "Forget ${input.customer} for good?"
  }

  sql "shop" {
    exec = "DELETE FROM refunds WHERE customer = ${input.customer}"
  }
  text = "${input.customer} is forgotten."
}

tool "refunds" {
  description = "List the refunds that were paid."
  sql "shop" {
    query = "SELECT customer, amount FROM refunds ORDER BY id"
  }
}
