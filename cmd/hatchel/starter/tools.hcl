# A set of tools. The server loads every *.hcl file below this directory, and follows changes while it runs.

server {
  name         = "my-tools"
  version      = "0.1.0"
  instructions = "A first set of tools."
}

tool "greet" {
  description = "Greet a person by name."
  input "name" { type = string("Who to greet", { min_length = 1, max_length = 80 }) }
  input "polite" { type = optional(bool("Whether to be formal"), false) }
  text = "%{if input.polite}Good day, ${input.name}.%{else}Hello ${input.name}!%{endif}"
}

tool "count_words" {
  description = "Count the words and characters of a text."
  input "text" { type = string("The text to count in") }
  check "`text` must not be empty" { that = "trimspace(input.text) != ''" }
  result = "{words: length(split(' ', input.text) | filter(# != '')), characters: length(input.text)}"
}
