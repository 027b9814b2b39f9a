package test_test

import (
	"strings"
	"testing"

	"hatchel/cmd/hatchel/test"
)

const bank = `
connection "postgres" "bank" { url = "postgres://bank.test/x" }
tool "pay" {
  description = "Tests."
  sql "bank" {
    exec = [
      "UPDATE accounts SET paid = true WHERE id = ${7} AND name = ${"Eva"}",
      "INSERT INTO payments (account) VALUES (${7}) RETURNING id",
    ]
  }
}`

const firstUpdate = `
mock "sql" "bank" {
  statement = "UPDATE accounts * WHERE *"
  args      = [7, "Eva"]
  reply { affected = 1 }
}`

func TestMocksOfStatementsAnswerInATransactionThatIsCommitted(t *testing.T) {
	o := call(t, bank, firstUpdate+`
mock "sql" "bank" {
  statement = <<-SQL
    INSERT INTO payments   (account)
    VALUES ($1) RETURNING id
  SQL
  reply { rows = [{ id = 12 }] }
}`).mustSucceed(t)
	if got := text(t, o.output["results"]); !strings.Contains(got, `"rows":[{"id":12}]`) ||
		!strings.HasPrefix(got, `[{"affected":1,`) {
		t.Errorf("results %s", got)
	}
	const want = `[{"args":[7,"Eva"],"committed":true,"connection":"bank","kind":"sql",` +
		`"statement":"UPDATE accounts SET paid = true WHERE id = $1 AND name = $2"}`
	if got := text(t, o.sent); !strings.HasPrefix(got, want) {
		t.Errorf("sent %s", got)
	}
}

func TestAMockMatchesByAPartOfTheStatementOrByItsArgumentsAlone(t *testing.T) {
	const insert = `
mock "sql" "bank" {
  statement = "insert into payments"
  reply { rows = [{ id = 12 }] }
}`
	for name, mocks := range map[string]string{
		"parts": `mock "sql" "bank" {
  statement = "UPDATE accounts"
  reply { affected = 1 }
}
mock "sql" "bank" {
  statement = "INTO   payments (account)"
  reply { rows = [{ id = 12 }] }
}`,
		"arguments": `mock "sql" "bank" {
  args = [7, "Eva"]
  reply { affected = 1 }
}
mock "sql" "bank" {
  args = [7]
  reply { rows = [{ id = 12 }] }
}`,
		"the whole before a part": `mock "sql" "bank" {
  statement = "a"
  reply { rows = [{ id = 12 }] }
}
mock "sql" "bank" {
  statement = "UPDATE accounts SET paid = true WHERE id = $1 AND name = $2"
  reply { affected = 1 }
}`,
	} {
		o := call(t, bank, mocks).mustSucceed(t)
		if got := text(t, o.output["results"]); !strings.Contains(got, `"rows":[{"id":12}]`) {
			t.Errorf("%s: results %s", name, got)
		}
	}
	for name, mock := range map[string]string{
		"another case":    insert,
		"other values":    `mock "sql" "bank" { args = [8] }`,
		"no statement":    `mock "sql" "bank" { statement = "" }`,
		"anchored by a *": `mock "sql" "bank" { statement = "INTO payments*" }`,
	} {
		if o := call(t, bank, firstUpdate+"\n"+mock); len(o.problems) == 0 {
			t.Errorf("%s: the mock answers, with %s", name, text(t, o.output))
		}
	}
}

func TestAnErrorOfTheDatabaseIsAReplyAndRollsTheTransactionBack(t *testing.T) {
	o := call(t, bank, firstUpdate+`
mock "sql" "bank" {
  statement = "INSERT *"
  reply {
    error = "duplicate key value violates unique constraint"
    code  = "23505"
  }
}`)
	if o.err == nil || !strings.Contains(o.err.Error(), "already exists; nothing was changed") || len(o.problems) > 0 {
		t.Errorf("error %v, problems %+v", o.err, o.problems)
	}
	if strings.Contains(text(t, o.sent), `"committed":true`) {
		t.Errorf("sent %s", text(t, o.sent))
	}
}

func TestAReplyThatNoStatementHasIsAnInvalidMock(t *testing.T) {
	o := call(t, bank, `
mock "sql" "bank" {
  statement = "UPDATE *"
  reply { rows = [{ id = 7 }] }
}`)
	if len(o.problems) == 0 || o.problems[0].Summary != "Invalid mock" ||
		!strings.Contains(o.problems[0].Detail, "the reply has rows, and the statement returns none: UPDATE accounts") {
		t.Errorf("problems %+v", o.problems)
	}
	o = call(t, `
connection "postgres" "bank" { url = "postgres://bank.test/x" }
tool "pay" {
  description = "Tests."
  sql "bank" { query = "SELECT id FROM payments" }
}`, `
mock "sql" "bank" {
  statement = "*"
  reply { affected = 1 }
}`)
	if len(o.problems) == 0 ||
		!strings.Contains(o.problems[0].Detail, "the reply has affected, and the statement changes nothing") {
		t.Errorf("problems %+v", o.problems)
	}
}

func TestTheDifferenceOfAStatementIsShown(t *testing.T) {
	for mock, want := range map[string]string{
		`statement = "UPDATE account SET *"`: `the statement is "UPDATE accounts SET paid = true WHERE id = $1 AND ` +
			`name = $2", and the mock has "UPDATE account SET *"`,
		"statement = \"UPDATE *\"\nargs = [7]":          `the number of args is 2, and the mock has 1`,
		"statement = \"UPDATE *\"\nargs = [7, \"Ada\"]": `args[1] is "Eva", and the mock has "Ada"`,
		"statement = \"UPDATE *\"\nargs = [\"Eva\", 7]": `args[0] is 7, and the mock has "Eva"`,
	} {
		o := call(t, bank, "mock \"sql\" \"bank\" {\n"+mock+"\n}\n")
		if len(o.problems) == 0 || !strings.Contains(o.problems[0].Detail, want) {
			t.Errorf("%s: problems %+v", mock, o.problems)
		}
	}
}

const ledger = `
connection "sqlite" "ledger" {
  file = "ledger.db"
  init = "CREATE TABLE invoices (id INTEGER PRIMARY KEY, total REAL)"
}
tool "total" {
  description = "Tests."
  sql "ledger" { query = "SELECT sum(total) AS total FROM invoices" }
}`

func TestAMockWithInitIsARealDatabase(t *testing.T) {
	o := call(t, ledger, `
mock "sql" "ledger" {
  init = "INSERT INTO invoices VALUES (1, 2.5), (2, 3)"
}`).mustSucceed(t)
	if got := text(t, o.output["rows"]); got != `[{"total":5.5}]` {
		t.Errorf("rows %s", got)
	}
	if got := text(t, o.sent); !strings.Contains(got, "SELECT sum(total) AS total FROM invoices") {
		t.Errorf("sent %s", got)
	}
}

func TestAMistakeInInitIsAProblemOfTheMock(t *testing.T) {
	o := call(t, ledger, `
mock "sql" "ledger" {
  init = "INSERT INTO invoice VALUES (1, 2.5)"
}`)
	const want = "The statements of init fail, those of the connection or of the mock: no such table: invoice."
	if len(o.problems) == 0 || o.problems[0].Detail != want || o.problems[0].Range.Start.Line != 2 {
		t.Errorf("problems %+v", o.problems)
	}
}

func TestADatabaseInMemoryThatIsNotUsedIsAProblem(t *testing.T) {
	o := call(t, ledger+`
connection "sqlite" "other" { file = "other.db" }`, `
mock "sql" "ledger" { init = "" }
mock "sql" "other" { init = "" }`)
	if len(o.problems) != 1 || o.problems[0].Detail != `No statement was executed in the database "other". Remove the mock.` {
		t.Errorf("problems %+v", o.problems)
	}
}

func TestInitIsForSQLiteOnly(t *testing.T) {
	o := call(t, bank, `
mock "sql" "bank" { init = "CREATE TABLE accounts (id)" }`)
	const want = `the kind of the connection is "postgres", and the mock has "init, which only sqlite takes"`
	if len(o.problems) != 1 || !strings.Contains(o.problems[0].Detail, want) {
		t.Errorf("problems %+v", o.problems)
	}
}

// TestStatementsOfAMockHaveTheTimeoutOfTheTool: the statements of init and of after run until they are stopped.
func TestStatementsOfAMockHaveTheTimeoutOfTheTool(t *testing.T) {
	const endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) AS a FROM r"
	s := suiteOf(t, `
connection "sqlite" "db" { file = "x.db" }
tool "read" {
  description = "Tests."
  timeout     = "200ms"
  sql "db" { query = "SELECT 1 AS a" }
}
test "init" {
  tool = "read"
  mock "sql" "db" { init = "CREATE TABLE t AS `+endless+`" }
}
test "after" {
  tool = "read"
  mock "sql" "db" { init = "CREATE TABLE t (a)" }
  after "all" {
    sql "db" { query = "`+endless+`" }
  }
}`)
	report, err := s.Run(t.Context(), test.Options{Parallel: 1, Repeat: 1})
	if err != nil || len(report.Results) != 2 {
		t.Fatal(report, err)
	}
	for _, r := range report.Results {
		if len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Detail, "t took longer than 200ms, the timeout of the tool") {
			t.Errorf("%s: %v", r.Name, r.Failures)
		}
	}
}
