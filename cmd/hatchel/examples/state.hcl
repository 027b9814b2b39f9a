secret "state" { file = "/run/secrets/state" }

state {
  postgres = secret.state
}
