tool "greet" {
  description = "Greet one person by name, and say that something may have changed."
  read_only   = false
  input "name" { type = string("Who to greet", { max_length = 80 }) }
  input "number" { type = integer("Place in line") }
  text = "Hello ${input.name}, you are number ${input.number} in line."
}
