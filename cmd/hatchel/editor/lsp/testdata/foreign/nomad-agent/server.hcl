datacenter = "dc1"
data_dir   = "/var/lib/nomad"

server {
  enabled          = true
  bootstrap_expect = 3
  server_join {
    retry_join = ["10.0.0.11", "10.0.0.12"]
  }
}

tls {
  http      = true
  rpc       = true
  ca_file   = "/etc/nomad/ca.pem"
  cert_file = "/etc/nomad/server.pem"
  key_file  = "/etc/nomad/server-key.pem"
}

audit {
  enabled = true
}
