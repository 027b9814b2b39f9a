tool "read_note" {
  description = "Read a note."
  input "name" { type = string("File name with extension") }
  file {
    directory = "notes"
    read      = input.name
  }
  text = output.content
}
