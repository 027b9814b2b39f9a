package test_test

import (
	"strings"
	"testing"

	"hatchel/cmd/hatchel/test"
)

// passing are configurations whose tests pass, by what they show.
var passing = map[string]string{
	"a test gives no valid addresses and keys to what it does not use": `
secret "dsn" { env = "DSN" }
secret "hook" { env = "HOOK" }
connection "postgres" "desk" { url = secret.dsn }
state { postgres = secret.dsn }
audit { postgres = secret.dsn }
webhook "ops" {
  url    = secret.hook
  secret = secret.hook
}
tool "count" {
  description = "Count."
  approval {
    when   = "false"
    notify = ["ops"]
  }
  sql "desk" { query = "SELECT count(*) AS n FROM tickets" }
}
test "tickets are counted" {
  tool = "count"
  mock "sql" "desk" {
    statement = "SELECT count(*) *"
    reply { rows = [{ n = 2 }] }
  }
  expect { result = [{ n = 2 }] }
}`,
	"a step without output has run, and one that is skipped has not": `
tool "work" {
  description = "Work."
  step "begun" {
    progress { done = 1 }
  }
  step "skipped" {
    when = "false"
    progress { done = 2 }
  }
  text = "done"
}
test "work" {
  tool = "work"
  expect { that = "called == ['begun'] && step.skipped == null" }
}`,
	"a condition goes through the rows of a query": `
connection "sqlite" "db" {
  file = "a.db"
  init = "CREATE TABLE t (n INTEGER)"
}
tool "add" {
  description = "Add a number."
  input "n" { type = integer("Number") }
  sql "db" { exec = "INSERT INTO t VALUES (${input.n})" }
}
test "a number is added" {
  tool = "add"
  args = { n = 2 }
  mock "sql" "db" { init = "INSERT INTO t VALUES (1)" }
  after "all" {
    sql "db" { query = "SELECT n FROM t ORDER BY n" }
  }
  expect { that = "map(after.all.rows, .n) == [1, 2] && after.all.row.n == 1" }
}`,
	"a text of several lines is written as a heredoc": `
tool "poem" {
  description = "Say a poem."
  text        = "Roses are red,\nviolets are blue."
}
test "poem" {
  tool = "poem"
  expect {
    text = <<-EOT
      Roses are red,
      violets are blue.
    EOT
  }
}`,
	"the sandbox of a program that is not started may name what this machine lacks": `
tool "log" {
  description = "Log."
  shell {
    command = ["git", "log"]
    sandbox { read = ["/not/there"] }
  }
}
test "log" {
  tool = "log"
  mock "shell" {
    command = ["git", "log"]
    reply { stdout = "a" }
  }
}`,
	"a file of another type is refused": `
tool "scan" {
  description = "Scan."
  input "image" { type = file("An image", { types = ["image/*"] }) }
  text = input.image.filename
}
test "a note is no image" {
  tool = "scan"
  args = { image = "note.txt" }
  expect { refused = "image" }
}`,
	"the arguments of prompts are refused, too": `
prompt "reply" {
  description = "Reply."
  argument "ticket" { type = integer("Number") }
  message "user" { text = "Ticket ${input.ticket}" }
}
test "tickets have numbers" {
  prompt = "reply"
  args   = { ticket = "x" }
  expect { refused = "ticket" }
}`,
}

func TestTestsCanExpect(t *testing.T) {
	for claim, src := range passing {
		t.Run(claim, func(t *testing.T) {
			s := suiteOf(t, src)
			report, err := s.Run(t.Context(), test.Options{Parallel: 1, Repeat: 1})
			if err != nil || report.Count(test.Passed) != len(s.Cases) {
				var out strings.Builder
				printer := &test.Printer{Out: &out, Sources: s.Sources}
				t.Errorf("%v %v\n%s", err, printer.Print("text", report), &out)
			}
		})
	}
}

// failing are configurations with a test that fails, and a part of what is printed.
var failing = map[string]struct{ src, want string }{
	"a question without an answer": {`
tool "close" {
  description = "Close."
  step "user" {
    ask "closing" {
      elicit { message = "Close it?" }
    }
  }
  text = "closed"
}
test "close" { tool = "close" }`, `
       The test has no answer to it: write answer "closing" { … } in the test.`},
	"a query that fails": {`
connection "sqlite" "db" { file = "a.db" }
tool "list" {
  description = "List."
  sql "db" { query = "SELECT 1 AS n" }
}
test "list" {
  tool = "list"
  mock "sql" "db" { init = "" }
  after "x" {
    sql "db" { query = "SELECT n FROM nowhere" }
  }
}`, `
a.hcl:11:5: error: Query failed
  11 |     sql "db" { query = "SELECT n FROM nowhere" }
     |     ^^^^^^^^
     = No such table: nowhere.`},
	"a long text, from where it differs": {`
tool "count" {
  description = "Count."
  text        = join(" ", range(1000))
}
test "count" {
  tool = "count"
  expect { text = "0 1 2 4" }
}`, `
     = want "0 1 2 4"
       got  "0 1 2 3 4 5`},
}

func TestAFailureSaysWhatIsNeeded(t *testing.T) {
	for claim, c := range failing {
		t.Run(claim, func(t *testing.T) {
			s := suiteOf(t, c.src)
			report, err := s.Run(t.Context(), test.Options{Parallel: 1, Repeat: 1})
			var out strings.Builder
			printer := &test.Printer{Out: &out, Sources: s.Sources}
			if err == nil {
				err = printer.Print("text", report)
			}
			if err != nil || !strings.Contains(out.String(), c.want) || out.Len() > 1000 {
				t.Errorf("%v\n%s", err, &out)
			}
		})
	}
}
