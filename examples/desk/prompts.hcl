# A prompt that a person chooses in the client. Its arguments are completed while they are typed.

prompt "reply" {
  title       = "Reply to a ticket"
  description = "Draft a reply to the person who opened a ticket, using its notes."
  argument "ticket" {
    type        = integer
    description = "Number of the ticket"
    complete {
      sql "desk" { query = "SELECT id FROM tickets WHERE status <> 'closed' AND id LIKE ${input.ticket} || '%' ORDER BY id" }
    }
  }
  argument "tone" {
    type        = optional(enum("short", "friendly"), "friendly")
    description = "Tone of the reply"
  }
  step "ticket" {
    sql "desk" { query = "SELECT department, subject FROM tickets WHERE id = ${input.ticket}" }
    expect "there is no such ticket" { that = "output.row != null" }
  }
  step "notes" {
    sql "desk" { query = "SELECT text FROM notes WHERE ticket = ${input.ticket} ORDER BY id" }
  }
  message "user" { text = "Write a ${input.tone} reply to ${step.ticket.row.department}. They have reported: ${step.ticket.row.subject}." }
  message "user" {
    each = step.notes.rows
    text = "Known so far: ${each.value.text}"
  }
}
