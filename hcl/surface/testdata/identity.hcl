variable "home" { default = "eu" }
locals {
  roles = { "free" = "tenant_ro", "paid" = "tenant_rw" }
}
connection "postgres" "desk" {
  instances = { "eu" = "postgres://app@eu.example/desk", "us" = "postgres://app@us.example/desk" }
  instance  = coalesce(caller.claims.region, var.home)
  role      = try(local.roles[caller.claims.plan], "tenant_none")
  session = {
    "app.tenant" = caller.claims.tenant
    "app.groups" = jsonencode(caller.groups)
    "app.team"   = try(caller.claims.team, "nobody")
    "app.level"  = contains(caller.groups, "boss") ? 5 : 1
  }
}
connection "mysql" "shop" {
  url  = "mysql://app@shop.example/shop"
  role = contains(caller.groups, "boss") ? "boss" : "clerk"
  session = {
    who  = lower(coalesce(caller.subject, "nobody"))
    mode = "x"
    own  = true
  }
}
tool "tickets" {
  description = "List the tickets."
  sql "desk" { query = "SELECT id FROM tickets ORDER BY id LIMIT 10" }
}
tool "close" {
  description = "Close a ticket."
  input "id" { type = integer }
  sql "desk" { exec = "UPDATE tickets SET closed = true WHERE id = ${input.id}" }
}
tool "order" {
  description = "Order an article."
  input "article" { type = string }
  sql "shop" { exec = "INSERT INTO orders (article, owner) VALUES (${input.article}, @who)" }
}
