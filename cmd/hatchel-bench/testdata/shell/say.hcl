tool "say" {
  description = "Say a word."
  input "word" { type = string("What to say") }
  shell { command = ["/bin/echo", input.word] }
}
