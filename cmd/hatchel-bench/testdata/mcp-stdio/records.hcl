variable "program" { type = string }
variable "revision" { type = string }

connection "mcp" "records" {
  command     = [var.program, "upstream", "stdio", var.revision]
  definitions = "records.tools.json"
  sessions    = "shared"
  sandbox { read = [var.program] }
}

tool "read_record" {
  description = "Read one record."
  read_only   = true
  input "id" { type = integer("Number of the record") }
  mcp "records" { call = "read_record" }
}
