# A server of several pods. They share the state in PostgreSQL, so any of them takes any request.

secret "state" { env = "STATE_DSN" }
secret "key" { env = "HATCHEL_KEY" }
secret "prometheus" { env = "PROMETHEUS_KEY" }

state {
  postgres = secret.state
}

auth {
  api_key "client" { secret = secret.key }
  api_key "prometheus" {
    secret = secret.prometheus
    groups = ["metrics"]
  }
}

telemetry {
  metrics { allow = "'metrics' in caller.groups" }
}

tool "ping" {
  description = "Answer."
  text        = "pong"
}
