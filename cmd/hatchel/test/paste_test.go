package test_test

import (
	"strings"
	"testing"

	"hatchel/hcl/syntax"
)

// pasteConfigs are tools that ask every kind of backend.
var pasteConfigs = map[string]string{
	"a path with special characters": shop + `
    get   = "/orders/${segment("a b/ü?*")}/lines"
    query = { q = "50% $${x} \"quoted\" &=", empty = "" }
  }
}`,
	"a JSON body": shop + `
    put  = "/orders/7"
    json = {
      text   = "line\none\ttab \\ $${input.x} %%{if} \u0007 \U0001F600"
      number = 12345678901234567890.5
      list   = [1, [true, null], { "for" = "x", "a-b" = {} }]
      token  = secret.token
    }
  }
}`,
	"a null as JSON body":    shop + "post = \"/orders\"\njson = null\n}\n}",
	"a form":                 shop + "post = \"/orders\"\nform = { a = [1, 2], b = secret.token }\n}\n}",
	"a body of parts":        shop + "post = \"/orders\"\nmultipart = { a = 1, b = { content = \"text\", filename = \"b.txt\" } }\n}\n}",
	"text":                   shop + "post = \"/orders\"\nbody = \"a\\nb\\n\"\nas = \"text\"\n}\n}",
	"bytes":                  shop + "post = \"/orders\"\nbody = base64bytes(\"/wD/\")\nas = \"text\"\n}\n}",
	"a head":                 shop + "head = \"/orders\"\n}\n}",
	"a type of the response": readOrder,
	"a long body": shop + `
    post = "/orders"
    json = { lines = [for i in range(20) : { sku = "number ${i}", comment = "a comment on line ${i}" }] }
  }
}`,
	"a whole URL": `
tool "t" {
  description = "Tests."
  http { get = "https://api.test/v1/x?y=1" }
}`,
	"a token": `
secret "token" { env = "TOKEN" }
connection "http" "shop" {
  base_url = "http://shop.test"
  auth {
    oauth2 {
      token_url     = "https://login.test/token"
      client_id     = "me"
      client_secret = secret.token
    }
  }
}
tool "t" {
  description = "Tests."
  http "shop" { get = "/orders" }
}`,
	"statements": `
connection "postgres" "bank" { url = "postgres://bank.test/x" }
tool "t" {
  description = "Tests."
  sql "bank" {
    exec = [
      <<-SQL
        UPDATE accounts -- all
        SET    note = ${"it's \"x\""}, n = ${1.5}, tags = ${["a", "b"]}
      SQL
      ,
      "INSERT INTO log (at) VALUES (${null}) RETURNING id",
    ]
  }
}`,
	"a query": `
connection "mysql" "bank" { url = "mysql://bank.test/x" }
tool "t" {
  description = "Tests."
  sql "bank" { query = "SELECT * FROM accounts WHERE id IN ${[1, 2]} AND name LIKE '%*%'" }
}`,
	"a SQLite database without init": `
connection "sqlite" "ledger" { file = "ledger.db" }
tool "t" {
  description = "Tests."
  sql "ledger" { query = "SELECT * FROM invoices WHERE id = ${7}" }
}`,
	"a SQLite database with init": `
connection "sqlite" "ledger" {
  file = "ledger.db"
  init = "CREATE TABLE invoices (id INTEGER)"
}
tool "t" {
  description = "Tests."
  sql "ledger" { query = "SELECT * FROM invoices WHERE id = ${7}" }
}`,
	"a command": `
secret "token" { env = "TOKEN" }
tool "t" {
  description = "Tests."
  shell {
    command = ["git", "log", "--format=%H $${x} \"*\"", "**"]
    stdin   = "a\nb"
    env     = { TOKEN = secret.token, TZ = "UTC" }
    parse   = "json"
  }
}`,
	"a pipe": `
tool "t" {
  description = "Tests."
  shell { pipe = [["git", "log"], ["sort", "-u"]] }
}`,
	"a script": `
connection "shell" "repo" { dir = "." }
tool "t" {
  description = "Tests."
  shell "repo" {
    script = <<-SH
      for f in *; do
        echo "$f" ${"a b"}
      done
    SH
  }
}`,
}

func TestThePrintedMockMakesTheTestPass(t *testing.T) {
	for name, config := range pasteConfigs {
		t.Run(name, func(t *testing.T) {
			mocks := ""
			for range 5 {
				o := call(t, config, mocks)
				if len(o.problems) == 0 && o.err == nil {
					if mocks == "" {
						t.Error("nothing was asked")
					}
					return
				}
				if len(o.problems) == 0 {
					t.Fatalf("error %v with\n%s", o.err, mocks)
				}
				printed := o.problems[0].Mock
				formatted, _ := syntax.Format("mock.hcl", []byte(printed))
				if string(formatted) != printed || strings.Contains(printed, "hush") {
					t.Errorf("printed\n%s", printed)
				}
				mocks += printed
			}
			t.Errorf("still not answered with\n%s", mocks)
		})
	}
}
