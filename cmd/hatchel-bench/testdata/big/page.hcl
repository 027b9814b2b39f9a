locals { page = file("page.txt") }

tool "read_page" {
  description = "Read the whole page."
  max_text    = "256KiB"
  input "name" { type = string("Title of the page") }
  text = "${input.name}: ${local.page}"
}
