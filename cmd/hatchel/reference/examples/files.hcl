auth {
  jwt {
    issuer   = "https://id.example"
    audience = "https://tools.example.com/mcp"
  }
}

files {
  max_size = "10MiB"
  types    = ["application/pdf", "text/plain"]
  base_url = "https://tools.example.com"
}

tool "count_words" {
  description = "Count the words of a text file."
  input "text" { type = file("The text", { types = ["text/plain"] }) }
  shell {
    command = ["wc", "-w", input.text.path]
  }
}
