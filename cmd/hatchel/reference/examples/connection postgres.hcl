# As in postgres://tools:PASSWORD@db.example/ledger
secret "ledger" { env = "LEDGER_DSN" }

connection "postgres" "ledger" {
  url     = secret.ledger
  session = { "app.tenant" = caller.claims.tenant }
}
