# Notes in a folder: listed, read, written, added to. Nothing outside the folder can be reached, whatever a caller asks for.

server {
  name    = "files"
  version = "1.0.0"
}

variable "folder" {
  type    = string
  default = "notes"
}

type "note" {
  is = string("File name ending in .md", { pattern = "^[A-Za-z0-9][A-Za-z0-9 _-]*\\.md$" })
}

tool "list_notes" {
  description = "The names of all files in the folder."
  read_only   = true
  open_world  = false

  shell {
    dir     = var.folder
    command = ["find", ".", "-type", "f", "-not", "-path", "*/.*"]
    parse   = "lines"
  }
  result = "sort(map(output.lines, trimprefix(#, './')))"
}

tool "read_note" {
  description = "Read a note, or a part of it by line numbers."
  input "name" { type = string("File name with extension, may be in a folder: todo.md, 2026/plan.md", { min_length = 1 }) }
  input "first" { type = optional(integer("First line, from 1", { min = 1 })) }
  input "last" { type = optional(integer("Last line", { min = 1 })) }

  file {
    directory = var.folder
    read      = input.name
    first     = input.first
    last      = input.last
  }
  text = output.content
}

tool "write_note" {
  description = "Write a note. A note that is already there is replaced only if you say so."
  input "name" { type = type.note }
  input "content" { type = string("The whole text", { max_length = 100000 }) }
  input "replace" { type = optional(bool, false) }

  step "keep" {
    when = "!input.replace"
    file {
      directory = var.folder
      write     = input.name
      content   = input.content
      if_exists = "fail"
    }
  }
  step "replace" {
    when = "input.replace"
    file {
      directory = var.folder
      write     = input.name
      content   = input.content
      if_exists = "replace"
    }
  }
  text = "Written: ${input.name}"
}

tool "add_to_note" {
  description = "Add lines to the end of a note, which is made if it is not there."
  input "name" { type = type.note }
  input "lines" { type = list(string({ max_length = 1000 }), { min_items = 1, max_items = 100 }) }

  file {
    directory = var.folder
    write     = input.name
    content   = "${join("\n", input.lines)}\n"
    if_exists = "append"
  }
  text = "${length(input.lines)} lines added to ${input.name}"
}

tool "read_table" {
  description = "Read a CSV file as rows."
  input "name" { type = string("File name ending in .csv", { pattern = "\\.csv$" }) }

  file {
    directory = var.folder
    read      = input.name
    as        = "csv"
  }
  result = "{rows: output.rows, count: len(output.rows)}"
}
