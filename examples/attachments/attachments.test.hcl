# A path in args stands for an uploaded file.

test "a document is stored" {
  tool = "keep_document"
  args = { document = "samples/letter.txt" }
  mock "sql" "documents" { init = "" }
  after "stored" {
    sql "documents" { query = "SELECT name, length(content) AS size FROM documents" }
  }
  expect {
    text = "Stored letter.txt (28 bytes)."
    that = "after.stored.rows == [{name: 'letter.txt', size: 28}]"
  }
}

test "a document is stored once" {
  tool = "keep_document"
  args = { document = "samples/letter.txt" }
  mock "sql" "documents" {
    statement = "INSERT INTO documents *"
    reply { affected = 0 }
  }
  expect { text = "It was stored before." }
}

test "words are counted" {
  tool = "count_words"
  args = { text = "samples/letter.txt" }
  mock "shell" {
    command = ["wc", "-w", "*"]
    reply { stdout = "5 /tmp/letter.txt\n" }
  }
  expect { text = "5 words" }
}

test "only scans are archived" {
  tool = "archive_scan"
  args = { title = "A letter", scan = "samples/letter.txt" }
  expect { refused = "scan" }
}

test "a scan is archived with its attachments" {
  tool = "archive_scan"
  args = { title = "A letter", scan = "samples/scan.png", attachments = ["samples/letter.txt"] }
  mock "http" "archive" {
    post = "/scans"
    reply { json = { number = 7 } }
  }
  expect { text = "Archived as number 7." }
}
