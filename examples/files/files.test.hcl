# A test works in a copy of the directory, so that these tests write files. Only find is mocked.

test "notes are listed by name" {
  tool = "list_notes"
  mock "shell" {
    command = ["find", "**"]
    reply { stdout = "./todo.md\n./2026/plan.md\n" }
  }
  expect { result = ["2026/plan.md", "todo.md"] }
}

test "a part of a note is read" {
  tool = "read_note"
  args = { name = "todo.md", first = 1, last = 1 }
  expect { text_matches = "^# " }
}

test "no argument reaches anything outside of the directory" {
  tool = "read_note"
  each = { "../files.hcl" = "leads out of the directory", "/etc/passwd" = "is an absolute path" }
  args = { name = each.key }
  expect { error_matches = each.value }
}

test "a note is written" {
  tool = "write_note"
  args = { name = "plan.md", content = "Sleep." }
  expect {
    text = "Written: plan.md"
    that = "called == ['create']"
  }
}

test "a note is replaced only on demand" {
  tool = "write_note"
  args = { name = "todo.md", content = "Sleep." }
  expect { error_matches = "exists" }
}

test "a note is replaced" {
  tool = "write_note"
  args = { name = "todo.md", content = "Sleep.", replace = true }
  expect { that = "called == ['replace']" }
}

test "a note ends in .md" {
  tool = "add_to_note"
  args = { name = "todo.txt", lines = ["Sleep."] }
  expect { refused = "name" }
}

test "lines are added to a note" {
  tool = "add_to_note"
  args = { name = "todo.md", lines = ["Sleep.", "Eat."] }
  expect { text = "2 lines added to todo.md" }
}

test "a table is read as rows" {
  tool = "read_table"
  args = { name = "hosts.csv" }
  expect { that = "result.count == len(result.rows) && result.count > 0" }
}
