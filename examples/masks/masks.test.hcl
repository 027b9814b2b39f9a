test "an agent sees parts and pseudonyms" {
  tool = "find_customers"
  args = { name = "Harbor" }
  caller { groups = ["agents"] }
  mock "sql" "shop" { init = file("schema.sql") }
  expect {
    masked   = ["email", "phone", "sign_in", "id"]
    contains = [{ name = "Blue Harbor", email = "o***@blueharbor.example.com", phone = "***4567", sign_in = "o***@blueharbor.example.com" }]
  }
}

test "the support team sees everything" {
  tool = "find_customers"
  args = { name = "Harbor" }
  caller { groups = ["support"] }
  mock "sql" "shop" { init = file("schema.sql") }
  expect { contains = [{ id = 1, email = "office@blueharbor.example.com", phone = "+49 30 1234567" }] }
}

test "values in notes are found" {
  tool = "customer_notes"
  args = { city = "Berlin" }
  caller { groups = ["agents"] }
  mock "sql" "shop" { init = file("schema.sql") }
  expect { text = "Blue Harbor: Call [phone] after six.\nGreen Valley: Pays from [iban], writes from [email].\n" }
}

test "a reminder reaches an address that the agent does not see" {
  tool = "send_reminder"
  args = { name = "Blue Harbor" }
  caller { groups = ["agents"] }
  mock "sql" "shop" { init = file("schema.sql") }
  mock "http" "mail" {
    post = "/messages"
    json = { to = "office@blueharbor.example.com", text = "Please pay 120.5 euros." }
    reply {
      status = 202
      json   = { id = "m-1" }
    }
  }
  expect { text = "A reminder was sent to o***@blueharbor.example.com." }
}

test "nobody is reminded who is no customer" {
  tool = "send_reminder"
  args = { name = "Nobody" }
  caller { groups = ["agents"] }
  mock "sql" "shop" { init = file("schema.sql") }
  expect { error_matches = "there is no such customer" }
}
