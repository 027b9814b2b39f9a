# Documents that callers upload are stored in a database, read by a program, and sent to an archive.

server {
  name         = "documents"
  version      = "1.0.0"
  instructions = "Upload a document first (POST /files), then pass its file_id."
}

variable "archive_url" {
  type        = string
  default     = "http://127.0.0.1:8092"
  description = "Base URL of the archive."
}

files {
  max_size = "20MiB"
  types    = ["application/pdf", "image/*", "text/*"]
  ttl      = "4h"
}

connection "http" "archive" {
  base_url = var.archive_url
  timeout  = "30s"
}

connection "sqlite" "documents" {
  file = "documents.db"
  mode = "rw"
  init = "CREATE TABLE IF NOT EXISTS documents (id INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL UNIQUE, content BLOB NOT NULL)"
}

tool "keep_document" {
  description = "Store a document in the database. A document that is stored already is not stored again."
  input "document" { type = file("The document", { max_size = "10MiB" }) }

  sql "documents" {
    exec = <<-SQL
      INSERT INTO documents (name, sha256, content)
      VALUES (${input.document.filename}, ${input.document.sha256}, ${input.document})
      ON CONFLICT (sha256) DO NOTHING
    SQL
  }
  text = "%{if output.affected == 1}Stored ${input.document.filename} (${input.document.size} bytes).%{else}It was stored before.%{endif}"
}

tool "count_words" {
  description = "Count the words of a text."
  input "text" { type = file("A text", { types = ["text/*"] }) }

  shell { command = ["wc", "-w", input.text.path] }
  text = "${split(" ", output.stdout)[0]} words"
}

tool "archive_scan" {
  description = "Send scans to the archive, which assigns them a number."
  input "title" { type = string("What the scans show", { max_length = 200 }) }
  input "scan" { type = file("The scan", { types = ["application/pdf", "image/*"] }) }
  input "attachments" { type = optional(list(file("Further files"), { max_items = 5 }), []) }

  http "archive" {
    post      = "/scans"
    multipart = { title = input.title, scan = input.scan, attachment = input.attachments }
    response  = object({ number = integer })
  }
  text = "Archived as number ${output.body.number}."
}
