# A tool that reads a file of a directory. The directory notes must exist.

tool "read_note" {
  description = "Read one note of the handbook by its name."
  input "name" { type = string("Name of the note, without .md", { pattern = "^[a-z0-9-]{1,60}$" }) }
  file {
    directory = "notes"
    read      = "${input.name}.md"
  }
}

# Blocks file and csv have no mock: a test reads the files of the directory, and what it writes is removed.
test "a note that does not exist is a failure that the model can read" {
  tool = "read_note"
  args = { name = "none" }
  expect { error = "no such file: notes/none.md" }
}

test "the name of a note cannot leave the directory" {
  tool = "read_note"
  args = { name = "../secret" }
  expect { refused = "name" }
}
