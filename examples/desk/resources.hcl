# Documents that a client reads by URI.

# Subscribers are notified when the file changes.
resource "runbook" {
  uri         = "desk://runbook"
  title       = "Runbook"
  description = "How the service desk works."
  file {
    directory = "."
    read      = "runbook.md"
  }
  annotations {
    audience = ["user", "assistant"]
    priority = 1
  }
}

# The query runs again every three seconds while a client is subscribed.
resource "open-tickets" {
  uri         = "desk://tickets/open"
  title       = "Open tickets"
  description = "Every ticket that is not closed, the oldest first."
  refresh     = "3s"
  sql "desk" { query = "SELECT id, opened, department, subject, status FROM tickets WHERE status <> 'closed' ORDER BY opened" }
}

# A template is a family of documents. Its variables are inputs with a type, a description and completion.
resource "ticket" {
  uri_template = "desk://tickets/{id}"
  title        = "Ticket"
  description  = "One ticket with its notes."
  input "id" {
    type        = integer
    description = "Number of the ticket"
    complete {
      sql "desk" { query = "SELECT id FROM tickets WHERE id LIKE ${input.id} || '%' ORDER BY id" }
    }
  }
  step "ticket" {
    sql "desk" { query = "SELECT id, opened, department, subject, status, resolution FROM tickets WHERE id = ${input.id}" }
  }
  step "missing" {
    when = "step.ticket.row == null"
    fault { message = "There is no ticket ${input.id}" }
  }
  step "notes" {
    sql "desk" { query = "SELECT text FROM notes WHERE ticket = ${input.id} ORDER BY id" }
  }
  text      = jsonencode({ ticket = step.ticket.row, notes = step.notes.rows })
  mime_type = "application/json"
}
