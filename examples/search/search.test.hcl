# The database of a test is in memory. schema.sql fills it, so that no test needs rows of its own.

test "a part of what was paid is refunded" {
  tool = "refund_order"
  args = { id = 501, amount = 20.5 }
  mock "sql" "shop" { init = "" }
  expect { text = "Refunded 20.5 euros." }
}

test "no more is refunded than was paid" {
  tool = "refund_order"
  each = {
    "too much" = { id = 501, amount = 121 }
    unpaid     = { id = 502, amount = 1 }
  }
  args = { id = each.value.id, amount = each.value.amount }
  mock "sql" "shop" { init = "" }
  expect { error = "that is more than was paid" }
}

test "an order that was shipped keeps its address" {
  tool = "change_address"
  args = { id = 501, address = "New Street 2, Bremen" }
  mock "sql" "shop" { init = "" }
  expect { error = "the order is not open" }
}

test "a user who declines keeps the order" {
  tool = "cancel_order"
  args = { id = 502 }
  answer { approve = false }
  expect {
    approval = true
    error    = "This call needed an approval, and it was rejected. Nothing was done."
  }
}

test "a ticket is assigned" {
  tool = "assign_ticket"
  args = { id = 101, team = "delivery" }
  mock "sql" "shop" { init = "" }
  after "ticket" {
    sql "shop" { query = "SELECT team FROM tickets WHERE id = 101" }
  }
  expect { that = "after.ticket.row.team == 'delivery'" }
}

test "an order is read" {
  tool = "get_order"
  args = { id = 501 }
  mock "sql" "shop" { init = "" }
  expect { that = "result[0].customer == 'Blue Harbor'" }
}

test "orders come in pages, newest first" {
  tool = "list_orders"
  args = {}
  mock "sql" "shop" { init = "" }
  expect { that = "map(result.rows, .id) == [504, 503] && result.next_cursor != nil" }
}

test "the second page goes on after the first" {
  tool = "list_orders"
  args = {}
  page = 2
  mock "sql" "shop" { init = "" }
  expect { that = "map(result.rows, .id) == [502, 501]" }
}

test "a cursor of another call is refused" {
  tool = "list_orders"
  args = { cursor = "AAAAAAAAAAAAAAAA" }
  expect { error_matches = "^cursor is not valid for this call" }
}

test "an order that nobody has paid" {
  tool = "unpaid_orders"
  args = {}
  mock "sql" "shop" { init = "" }
  expect { that = "map(result, .id) == [502]" }
}

test "an open order is sent elsewhere" {
  tool = "change_address"
  args = { id = 502, address = "New Street 2, Bremen" }
  mock "sql" "shop" { init = "" }
  expect { text = "Order 502 goes to New Street 2, Bremen." }
}

test "a user who confirms cancels the order" {
  tool = "cancel_order"
  args = { id = 502 }
  answer { approve = true }
  mock "sql" "shop" { init = "" }
  expect { text = "Order 502 is cancelled." }
}

test "an order that was shipped is not cancelled" {
  tool = "cancel_order"
  args = { id = 501 }
  answer { approve = true }
  mock "sql" "shop" { init = "" }
  expect { error = "the order is not open" }
}

test "an order with a refund" {
  tool = "list_refunds"
  args = {}
  mock "sql" "shop" { init = "" }
  expect { that = "map(result, .id) == [504]" }
}

test "open tickets" {
  tool = "list_tickets"
  args = {}
  mock "sql" "shop" { init = "" }
  expect { that = "map(result, .id) == [101, 102]" }
}

test "a ticket is opened" {
  tool = "open_ticket"
  args = { title = "Where is my parcel?" }
  mock "sql" "shop" { init = "" }
  expect { text = "The ticket is open." }
}

test "a ticket that does not exist is not assigned" {
  tool = "assign_ticket"
  args = { id = 999, team = "store" }
  mock "sql" "shop" { init = "" }
  expect { error = "there is no such ticket" }
}

test "a note is added" {
  tool = "add_note"
  args = { id = 101, text = "The customer sent a picture." }
  mock "sql" "shop" { init = "" }
  expect { text = "The note was added." }
}

test "a ticket is closed" {
  tool = "close_ticket"
  args = { id = 101 }
  mock "sql" "shop" { init = "" }
  expect { text = "Ticket 101 is closed." }
}

test "a ticket that does not exist is not closed" {
  tool = "close_ticket"
  args = { id = 999 }
  mock "sql" "shop" { init = "" }
  expect { error = "there is no such ticket" }
}

# The words of users, who do not know the names of tools.

search_test "The goods were damaged, give the customer money back" {
  toolset = "all"
  finds   = ["refund_order"]
}

search_test "Who has not paid?" {
  toolset = "all"
  finds   = ["unpaid_orders"]
}

search_test "The customer has moved, send it to the new address" {
  toolset = "all"
  finds   = ["change_address"]
}

search_test "Register a complaint" {
  toolset = "all"
  finds   = ["open_ticket"]
}

search_test "Hand this case over to the delivery team" {
  toolset = "all"
  finds   = ["assign_ticket"]
}
