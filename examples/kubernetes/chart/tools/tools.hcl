# What the chart serves until you replace the files of this folder. One pod keeps its state on a volume.

secret "key" { env = "HATCHEL_KEY" }

auth {
  api_key "client" { secret = secret.key }
}

tool "ping" {
  description = "Answer."
  text        = "pong"
}
