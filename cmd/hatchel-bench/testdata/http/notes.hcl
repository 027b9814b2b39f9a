variable "upstream" { type = string }

connection "http" "notes" { base_url = var.upstream }

tool "read_note" {
  description = "Read one note."
  input "id" { type = integer("Which one") }
  http "notes" {
    get = "/notes/${input.id}"
    as  = "text"
  }
  text = "${output.body}"
}
