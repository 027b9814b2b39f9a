# Notes in a directory: list, read, write and append. No argument reaches anything outside of the directory.

server {
  name    = "files"
  version = "1.0.0"
}

variable "directory" {
  type    = string
  default = "notes"
}

type "note" {
  is = string("File name ending in .md", { pattern = "^[A-Za-z0-9][A-Za-z0-9 _-]*\\.md$" })
}

tool "list_notes" {
  description = "List the names of all files in the directory."
  read_only   = true
  open_world  = false

  shell {
    dir     = var.directory
    command = ["find", ".", "-type", "f", "-not", "-path", "*/.*"]
    as      = "lines"
  }
  result = "sort(map(output.lines, trimprefix(#, './')))"
}

tool "read_note" {
  description = "Read a note, or a part of it by line numbers."
  input "name" { type = string("File name with extension, relative to the directory: todo.md, 2026/plan.md", { min_length = 1 }) }
  input "first" { type = optional(integer("First line, from 1", { min = 1 })) }
  input "last" { type = optional(integer("Last line", { min = 1 })) }

  file {
    directory = var.directory
    read      = input.name
    first     = input.first
    last      = input.last
  }
  text = output.content
}

tool "write_note" {
  description = "Write a note. An existing note is replaced only with replace = true."
  input "name" { type = type.note }
  input "content" { type = string("The whole text", { max_length = 100000 }) }
  input "replace" { type = optional(bool, false) }

  step "create" {
    when = "!input.replace"
    file {
      directory = var.directory
      write     = input.name
      content   = input.content
      if_exists = "fail"
    }
  }
  step "replace" {
    when = "input.replace"
    file {
      directory = var.directory
      write     = input.name
      content   = input.content
      if_exists = "replace"
    }
  }
  text = "Written: ${input.name}"
}

tool "add_to_note" {
  description = "Append lines to a note. The note is created if it does not exist."
  input "name" { type = type.note }
  input "lines" { type = list(string({ max_length = 1000 }), { min_items = 1, max_items = 100 }) }

  file {
    directory = var.directory
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
    directory = var.directory
    read      = input.name
    as        = "csv"
  }
  result = "{rows: output.rows, count: len(output.rows)}"
}
