variable "upstream" { type = string }

connection "mcp" "records" {
  url         = var.upstream
  definitions = "records.tools.json"
}

tool "read_record" {
  description = "Read one record."
  read_only   = true
  input "id" { type = integer("Number of the record") }
  mcp "records" { call = "read_record" }
}
