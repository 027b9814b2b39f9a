tool "summarize" {
  description = "Say in one sentence what a text says."
  input "text" { type = string }
  step "model" {
    ask "summary" {
      sample {
        system     = "You answer with one sentence."
        prompt     = input.text
        max_tokens = 100
      }
      fallback = input.text
    }
  }
  text = step.model.summary.text
}
