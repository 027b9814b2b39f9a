tool "later" {
  description = "Answer after some seconds."
  input "seconds" { type = number({ min = 0, max = 30 }) }
  step "nap" {
    wait { seconds = input.seconds }
  }
  text = "Good morning."
}
