auth {
  jwt {
    issuer          = "https://id.example"
    audience        = "https://tools.example/mcp"
    required_scopes = ["tools"]
  }
}

tool "whoami" {
  description = "Say who calls."
  scopes      = ["profile"]
  text        = "${caller.subject}"
}
