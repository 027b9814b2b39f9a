namespace "default" {
  policy       = "read"
  capabilities = ["submit-job", "read-logs"]
}

node {
  policy = "read"
}
