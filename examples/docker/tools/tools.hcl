# A server that others reach, so its callers have a key.

secret "key" { env = "HATCHEL_KEY" }

auth {
  api_key "client" { secret = secret.key }
}

tool "ping" {
  description = "Answer."
  text        = "pong"
}
