tls {
  cert      = "tls/server.pem"
  key       = "tls/server.key"
  client_ca = "tls/clients.pem"
}
