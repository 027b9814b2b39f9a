# A toolset whose tools are found instead of listed. It runs as it is: the database is created from schema.sql.
#   hatchel serve --stdio --toolset all examples/search
# Twelve tools are few. The example shows what a catalogue of hundreds does; serve a short list as it is.

server {
  name    = "shop"
  version = "1.0.0"
}

connection "sqlite" "shop" {
  file = "shop.db"
  init = file("schema.sql")
}

toolset "all" {
  title = "Orders and tickets of the shop"
  tools = ["*"]
  # lint:allow search The example is small on purpose.
  search {
    areas   = "Orders, payments, refunds and tickets of the shop's customers."
    pinned  = ["get_order"]
    results = 4
  }
}

tool "get_order" {
  description = "Read an order by its number."
  input "id" { type = integer("Number of the order") }
  sql "shop" { query = "SELECT id, customer, address, status, total, paid, refunded FROM orders WHERE id = ${input.id}" }
}

tool "list_orders" {
  description = "List orders in pages, newest first. For the next page, repeat the call with next_cursor as cursor."
  page {
    size = 2
    keys = { id = integer }
  }
  sql "shop" {
    query = <<-SQL
      SELECT id, customer, status, total FROM orders
      %{if page.after != null} WHERE id < ${page.after.id} %{endif} ORDER BY id DESC LIMIT ${page.limit}
    SQL
  }
}

tool "unpaid_orders" {
  description = "List orders that were not paid, with the amount that the customer owes."
  sql "shop" { query = "SELECT id, customer, total FROM orders WHERE paid = 0 ORDER BY id" }
}

tool "change_address" {
  description = "Change the delivery address of an order that was not shipped."
  input "id" { type = integer("Number of the order") }
  input "address" { type = string("Street and city", { min_length = 5, max_length = 200 }) }
  sql "shop" { exec = "UPDATE orders SET address = ${input.address} WHERE id = ${input.id} AND status = 'open'" }
  expect "the order is not open" { that = "output.affected == 1" }
  text = "Order ${input.id} goes to ${input.address}."
}

tool "cancel_order" {
  description = "Cancel an order that was not shipped. The user confirms it."
  destructive = true
  input "id" { type = integer("Number of the order") }
  approval {
    by      = "caller"
    message = "Cancel the order ${input.id}?"
  }
  sql "shop" { exec = "UPDATE orders SET status = 'cancelled' WHERE id = ${input.id} AND status = 'open'" }
  expect "the order is not open" { that = "output.affected == 1" }
  text = "Order ${input.id} is cancelled."
}

tool "refund_order" {
  description = "Pay money for an order back to the customer, such as for damaged goods."
  input "id" { type = integer("Number of the order") }
  input "amount" { type = number("Amount in euros", { above = 0 }) }
  sql "shop" {
    exec = <<-SQL
      UPDATE orders SET refunded = refunded + ${input.amount}
      WHERE id = ${input.id} AND paid = 1 AND refunded + ${input.amount} <= total
    SQL
  }
  expect "that is more than was paid" { that = "output.affected == 1" }
  text = "Refunded ${input.amount} euros."
}

tool "list_refunds" {
  description = "List orders with refunds."
  sql "shop" { query = "SELECT id, customer, refunded FROM orders WHERE refunded > 0 ORDER BY id" }
}

tool "list_tickets" {
  description = "List support tickets of one status: complaints and questions of customers."
  input "status" { type = optional(enum("open", "closed"), "open") }
  sql "shop" { query = "SELECT id, title, team FROM tickets WHERE status = ${input.status} ORDER BY id" }
}

tool "open_ticket" {
  description = "Open a support ticket for a complaint or a question of a customer."
  input "title" { type = string("What it is about", { min_length = 3, max_length = 200 }) }
  sql "shop" { exec = "INSERT INTO tickets (title) VALUES (${input.title})" }
  text = "The ticket is open."
}

tool "assign_ticket" {
  description = "Assign a support ticket to a team."
  input "id" { type = integer("Number of the ticket") }
  input "team" { type = enum("accounts", "store", "delivery") }
  sql "shop" { exec = "UPDATE tickets SET team = ${input.team} WHERE id = ${input.id}" }
  expect "there is no such ticket" { that = "output.affected == 1" }
  text = "Ticket ${input.id} is with ${input.team}."
}

tool "add_note" {
  description = "Add a note to a support ticket."
  input "id" { type = integer("Number of the ticket") }
  input "text" { type = string("The note", { min_length = 1, max_length = 1000 }) }
  sql "shop" { exec = "INSERT INTO notes (ticket, text) VALUES (${input.id}, ${input.text})" }
  text = "The note was added."
}

tool "close_ticket" {
  description = "Close a support ticket that is solved."
  input "id" { type = integer("Number of the ticket") }
  sql "shop" { exec = "UPDATE tickets SET status = 'closed' WHERE id = ${input.id}" }
  expect "there is no such ticket" { that = "output.affected == 1" }
  text = "Ticket ${input.id} is closed."
}
