# Tools that ask the user before something is written, and tools that ask the model of the client.

tool "list_tickets" {
  description = "List tickets, newest first."
  input "status" { type = optional(enum("open", "waiting", "closed")) }
  input "department" {
    type = optional(string("Department that opened the tickets"))
    complete {
      sql "desk" { query = "SELECT DISTINCT department FROM tickets WHERE department LIKE ${input.department} || '%' ORDER BY department" }
    }
  }
  sql "desk" {
    query = <<-SQL
      SELECT id, opened, department, subject, status FROM tickets
      WHERE 1 = 1
      %{if input.status != null} AND status = ${input.status} %{endif}
      %{if input.department != null} AND department = ${input.department} %{endif}
      ORDER BY opened DESC
    SQL
  }
}

# The first step runs once; its result is kept while the user is asked. When the user declines, nothing is written.
tool "close_ticket" {
  description = "Close a ticket. The user is asked what helped, and may decline."
  input "id" { type = integer("Number of the ticket") }

  step "ticket" {
    sql "desk" { query = "SELECT subject FROM tickets WHERE id = ${input.id} AND status <> 'closed'" }
    expect "there is no open ticket with this number" { that = "output.row != null" }
  }
  step "user" {
    ask "closing" {
      elicit {
        message    = "Close ticket ${input.id}, “${step.ticket.row.subject}”?"
        fields     = object({ resolution = string("What helped", { min_length = 1, max_length = 200 }) })
        on_decline = "continue"
      }
    }
  }
  step "close" {
    when = "step.user.closing.content != null"
    sql "desk" { exec = "UPDATE tickets SET status = 'closed', resolution = ${step.user.closing.content.resolution} WHERE id = ${input.id}" }
  }
  text = "Ticket ${input.id} ${step.close == null ? "was not closed: the user declined" : "is closed"}."
}

# The fallback is used for clients that offer no model.
tool "summarize_ticket" {
  description = "Summarize a ticket in one sentence."
  input "id" { type = integer("Number of the ticket") }

  step "notes" {
    sql "desk" {
      query = <<-SQL
        SELECT t.subject AS line FROM tickets t WHERE t.id = ${input.id}
        UNION ALL SELECT n.text FROM notes n WHERE n.ticket = ${input.id}
      SQL
    }
    expect "there is no such ticket" { that = "len(output.rows) > 0" }
  }
  step "model" {
    ask "summary" {
      sample {
        system     = "You summarize tickets of a service desk. You answer with one sentence."
        prompt     = join("\n", [for row in step.notes.rows : row.line])
        max_tokens = 100
      }
      fallback = join(" ", [for row in step.notes.rows : row.line])
    }
  }
  text = step.model.summary.text
}

# A client that supports tasks is answered at once and fetches the result later. Any other client waits, and may receive progress.
tool "export_tickets" {
  description = "Write the tickets of one year to a CSV file."
  timeout     = "10m"
  input "year" { type = integer("Calendar year", { min = 2000, max = 2100 }) }
  task { ttl = "1h" }

  step "tickets" {
    sql "desk" { query = "SELECT id, opened, department, subject, status FROM tickets WHERE opened LIKE ${"${input.year}-%"} ORDER BY id" }
    expect "there are no tickets in that year" { that = "len(output.rows) > 0" }
  }
  step "half" {
    progress {
      done    = 1
      total   = 2
      message = "${length(step.tickets.rows)} tickets found"
    }
  }
  step "file" {
    csv {
      directory = "exports"
      file      = "${input.year}.csv"
      rows      = step.tickets.rows
      if_exists = "replace"
    }
  }
  text = "${step.file.count} tickets of ${input.year} written to ${step.file.path}."
}
