skill "refunds" {
  path  = "acme/billing"
  allow = "'finance' in caller.groups"
}
