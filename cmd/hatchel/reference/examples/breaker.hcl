connection "http" "bank" {
  base_url    = "https://bank.example"
  concurrency = 8
  rate        = "20/s"
  breaker {
    failures = 5
    cooldown = "30s"
  }
}
