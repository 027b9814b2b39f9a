# One server of several processes. They share the state in PostgreSQL, and any of them takes any request: nginx.conf and Caddyfile have no
# sticky sessions, and neither have the manifests in examples/kubernetes. Start some, each with its own --listen:
#
#   STATE_DSN=postgres://hatchel@db.example/hatchel hatchel serve examples/replicas --listen 127.0.0.1:8081

server {
  name    = "replicas"
  version = "1.0.0"

  # The name that clients use, which the proxy passes on.
  hosts = ["tools.example"]

  # The processes see nginx as their client. They take the address of the client from the header.
  trusted_proxies {
    addresses = ["127.0.0.1"]
    header    = "x-forwarded-for"
  }
}

secret "state" { env = "STATE_DSN" }

state {
  postgres = secret.state
}

tool "ping" {
  description = "Answer."
  text        = "pong"
}

# The user may take as long as three restarts, each of another process.
tool "release_hold" {
  description = "Release the hold on a shipment. The user is asked first."
  input "shipment" { type = integer("Number of the shipment") }
  limit {
    rate = "10/m"
    per  = "tool"
  }
  step "user" {
    ask "consent" {
      elicit { message = "Release the hold on shipment ${input.shipment}?" }
    }
  }
  text = "The hold on shipment ${input.shipment} is released."
}
