tool "folders" {
  description = "Which folders the user has opened."
  step "client" {
    ask "open" {
      roots {}
      fallback = []
    }
  }
  result = "map(step.client.open.roots, .uri)"
}
