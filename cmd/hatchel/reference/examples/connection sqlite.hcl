connection "sqlite" "ledger" {
  file = "ledger.db"
  mode = "ro"
}
