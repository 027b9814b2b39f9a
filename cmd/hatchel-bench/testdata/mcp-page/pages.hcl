variable "upstream" { type = string }

connection "mcp" "pages" {
  url         = var.upstream
  definitions = "pages.tools.json"
}

tool "read_page" {
  description = "Read the whole page."
  read_only   = true
  max_text    = "256KiB"
  input "name" { type = string("Title of the page") }
  mcp "pages" { call = "read_page" }
}
