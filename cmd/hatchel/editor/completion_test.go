package editor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/hcl"
)

// project is what the cases complete in.
const project = `
connection "http" "shop" { base_url = "https://shop.example.com" }
connection "sqlite" "desk" { path = "desk.db" }
secret "token" { env = "TOKEN" }
variable "region" { default = "eu" }
type "order" { is = object({ id = string, total = number, lines = list(object({ sku = string, count = integer })) }) }
locals { currencies = ["EUR"] }
tool "order" {
  description = "Returns one order."
  input "id" { type = string }
  input "status" { type = optional(enum("open", "paid")) }
  http "shop" {
    get      = "/orders/${input.id}"
    query    = { status = input.status, region = var.region, currency = local.currencies }
    headers  = { authorization = secret.token }
    response = type.order
  }
}
toolset "all" {
  tools = ["*"]
  search { areas = "Orders." }
}
`

var desk = &Tables{"sqlite.desk": {
	{"tickets", []Column{{"id", "INTEGER"}, {"subject", "TEXT"}, {"customer_id", "INTEGER"}}},
	{"customers", []Column{{"id", "INTEGER"}, {"name", "TEXT"}}},
}}

// Each text has a cursor at | and items that must be proposed; one after ! must not be. The text is that of a second
// file, which need not be complete.
var completionCases = []struct{ name, text, want string }{
	{"a tool without description", "tool \"x\" {\n  |\n}\n", "description"},
	{"the beginning of an argument", "tool \"x\" {\n  desc|\n}\n", "description"},
	{"a line without end", "tool \"x\" {\n  description = \"x\"\n  read|", "read_only"},
	{"an argument that is set", "tool \"x\" {\n  title = \"x\"\n  ti|\n}\n", "timeout !title"},
	{"a connection", "tool \"x\" {\n  http \"|\" {\n    get = \"/x\"\n  }\n}\n", "shop !desk"},
	{"a connection in an open text", "tool \"x\" {\n  http \"|\n", "shop !desk"},
	{"an input in a URL", inTool("http \"shop\" { get = \"/x/${input.|}\" }"), "number when !id"},
	{"an input in an open ${", inTool("http \"shop\" {\n    get = \"/x/${input.|\n  }"), "number when"},
	{"an input in SQL", inTool("sql \"desk\" {\n    query = <<-SQL\n      SELECT * FROM tickets WHERE id = ${input.|\n    SQL\n  }"), "number"},
	{"an input in a program", inTool("result = \"input.|\""), "number"},
	{"an input in a program without end", inTool("result = \"filter(input.list, .x > input.|"), "number list"},
	{"a variable, a local", inTool("text = \"${var.|}\""), "region"},
	{"a local", inTool("text = local.|"), "currencies"},
	{"a word that an argument takes", inTool("step \"a\" {\n    on_error = \"|\"\n  }"), "fail continue"},
	{"true or false", "tool \"x\" {\n  read_only = |\n}\n", "true false"},
	{"nothing behind a value", "tool \"x\" {\n  title = \"a\" |\n}\n", ""},
	{"a value that is not written yet", "tool \"x\" {\n  title = \"a\"\n  text = |\n  description = \"b\"\n}\n", "local"},
	{"a type", "tool \"x\" {\n  input \"a\" { type = | }\n}\n", "string integer"},
	{"a part of a type", "tool \"x\" {\n  input \"a\" { type = optional(|) }\n}\n", "string"},
	{"a declared type", "tool \"x\" {\n  returns = type.|\n}\n", "order"},
	{"a keyword of a type", "tool \"x\" {\n  input \"a\" { type = string(\"x\", { | }) }\n}\n", "min_length max_length pattern !min"},
	{"a member of a response", inTool("http \"shop\" {\n    get = \"/x\"\n    response = type.order\n  }\n  result = \"output.body.|\""), "id total lines"},
	{"a member of an element", inTool("http \"shop\" {\n    get = \"/x\"\n    response = type.order\n  }\n  result = \"output.body.lines | filter(.|\""), "sku count"},
	{"a member of a loop variable", inTool("http \"shop\" {\n    get = \"/x\"\n    response = type.order\n  }\n  text = \"%{for l in output.body.lines}${l.|}%{endfor}\""), "sku count"},
	{"a loop variable", inTool("text = \"%{for item in input.list}${|}%{endfor}\""), "item"},
	{"an earlier step", inTool("step \"find\" {\n    tool \"order\" { id = \"1\" }\n  }\n  result = \"step.|\""), "find"},
	{"the result of a step", inTool("step \"find\" {\n    tool \"order\" { id = \"1\" }\n  }\n  result = \"step.find.|\""), "result text"},
	{"a tool for a step", inTool("step \"find\" {\n    tool \"|\" {}\n  }"), "order"},
	{"an input of another tool", inTool("step \"find\" {\n    tool \"order\" {\n      |\n    }\n  }"), "id status"},
	{"a secret in a header", inTool("http \"shop\" {\n    get = \"/x\"\n    headers = { authorization = secret.| }\n  }"), "token"},
	{"no secret in a text", inTool("text = \"${|}\""), "input !secret"},
	{"an enum in a program", "tool \"x\" {\n  input \"s\" { type = enum(\"new\", \"old\") }\n  result = \"input.s == '|'\"\n}\n", "new old"},
	{"the tools of a policy", "policy \"p\" {\n  tools = [\"|\"]\n  allow = \"true\"\n}\n", "order"},
	{"the caller", "policy \"p\" {\n  allow = \"'x' in caller.|\"\n}\n", "groups subject"},
	{"the event of a hook", "on \"tool_|\" {\n  notify = [\"ops\"]\n}\n", "tool_call tool_result"},
	{"the tools of a hook", "on \"tool_result\" {\n  tools = [\"|\"]\n}\n", "order"},
	{"a member of an event", "on \"tool_result\" {\n  when = \"event.o|\"\n}\n", "output outcome"},
	{"an outcome of an event", "on \"tool_result\" {\n  when = \"event.outcome == '|'\"\n}\n", "failed refused"},
	{"the tool of a test", "test \"t\" {\n  tool = \"|\"\n}\n", "order"},
	{"the toolset of a search", inSearchTest("toolset = \"|\""), "all"},
	{"a tool that a search finds", inSearchTest("toolset = \"all\"\n  finds = [\"|\"]"), "order"},
	{"an argument of a search test", inSearchTest("|"), "toolset finds skip caller"},
	{"what a mock stands for", "test \"t\" {\n  tool = \"order\"\n  mock \"|\" \"shop\" {}\n}\n", "http sql shell"},
	{"the connection of a mock", "test \"t\" {\n  tool = \"order\"\n  mock \"http\" \"|\" {}\n}\n", "shop !desk"},
	{"the query of a test", "test \"t\" {\n  tool = \"order\"\n  after \"x\" {\n    |\n  }\n}\n", "sql"},
	{"an argument of a call", "test \"t\" {\n  tool = \"order\"\n  args = { | }\n}\n", "id status"},
	{"what a test reads", "test \"t\" {\n  tool = \"order\"\n  expect { that = \"|\" }\n}\n", "result"},
	{"arguments of a connection", "connection \"http\" \"x\" {\n  |\n}\n", "base_url"},
	{"a kind of connection", "connection \"|\" \"x\" {}\n", "http"},
	{"a block in a connection", "connection \"http\" \"x\" {\n  base_url = \"https://x\"\n  auth {\n    |\n  }\n}\n", "bearer"},
	{"a function", inTool("text = \"${json|}\""), "jsonencode jsondecode"},
	{"a function of programs", inTool("result = \"sort|\""), "sortBy sort"},
	{"a table", inSQL("SELECT * FROM |"), "tickets customers"},
	{"a column", inSQL("SELECT | FROM tickets"), "id subject customer_id !name"},
	{"a column of an alias", inSQL("SELECT c.| FROM tickets t JOIN customers c ON c.id = t.customer_id"), "id name !subject"},
	{"a word of SQL", inSQL("SELECT * FROM tickets WHE|"), "WHERE"},
	{"a top-level block", "to|", "tool toolset"},
	{"after a block without end", "tool \"broken\" {\n  text = \"${input.\n\ntool \"y\" {\n  input \"a\" { type = string }\n  text = input.|\n}\n", "a"},
	{"nothing in a comment", "tool \"x\" {\n  # a |\n}\n", ""},
	{"nothing in a description", "tool \"x\" {\n  description = \"Returns |\"\n}\n", ""},
	{"characters outside of ASCII", inTool("text = \"größe 😀 ${input.|}\""), "number"},
}

func inTool(text string) string {
	return "tool \"x\" {\n  description = \"x\"\n  input \"number\" { type = string }\n  input \"when\" { type = string(\"x\", { format = \"date\" }) }\n" +
		"  input \"list\" { type = list(string) }\n  " + text + "\n}\n"
}

func inSearchTest(text string) string {
	return "search_test \"q\" {\n  " + text + "\n}\n"
}

func inSQL(text string) string {
	return inTool("sql \"desk\" {\n    query = <<-SQL\n      " + text + "\n    SQL\n  }")
}

func loadCase(tb testing.TB, files fstest.MapFS) (*Language, *hcl.Config) {
	l := NewLanguage(all.Set().Kinds())
	p := l.Load(files, hcl.Options{Dir: "/nowhere"}, nil)
	if p.Config.Partial {
		tb.Fatal(p.Diags)
	}
	return l, p.Config
}

func TestCompletion(t *testing.T) {
	l, cfg := loadCase(t, fstest.MapFS{"a.hcl": {Data: []byte(project)}})
	for _, c := range completionCases {
		before, after, _ := strings.Cut(c.text, "|")
		if strings.Count(c.text, "|") > 1 { // a pipe
			i := strings.LastIndex(c.text, "|")
			before, after = c.text[:i], c.text[i+1:]
		}
		var labels []string
		for _, i := range l.Complete(cfg, []byte(before+after), len(before), desk).Items {
			labels = append(labels, i.Label)
		}
		for _, word := range strings.Fields(c.want) {
			name, not := strings.CutPrefix(word, "!")
			if slices.Contains(labels, name) == not {
				t.Errorf("%s: %s: proposed are %v", c.name, word, labels)
			}
		}
		if c.want == "" && len(labels) > 0 {
			t.Errorf("%s: %v", c.name, labels)
		}
	}
}

// The order can be explained: what begins with the text that is there, what is required, and then as the reference has
// it. It does not depend on what else the file has.
func TestCompletionsAreInTheOrderOfTheReference(t *testing.T) {
	l, cfg := loadCase(t, fstest.MapFS{"a.hcl": {Data: []byte(project)}})
	for _, c := range []struct{ name, text, want string }{
		{"what is required is first", "test \"t\" {\n  |\n}\n", "tool"},
		{"then the order of the reference", "connection \"http\" \"x\" {\n  base_url = \"https://x\"\n  |\n}\n", fieldsOf(l, "connection http", "base_url")},
		{"what begins with the text is first", "tool \"x\" {\n  description = \"x\"\n  ti|\n}\n", "title timeout"},
		{"constants where true or false is wanted", "tool \"x\" {\n  read_only = |\n}\n", "true false"},
		{"members in their order", inTool("http \"shop\" {\n    get = \"/x\"\n    response = type.order\n  }\n  result = \"output.body.|\""), "id total lines"},
		{"columns of the tables that a statement names", inSQL("SELECT | FROM tickets"), "id subject customer_id"},
		{"top-level blocks", "|", strings.Join(l.topLevel, " ")},
	} {
		before, after, _ := strings.Cut(c.text, "|")
		var labels []string
		for _, i := range l.Complete(cfg, []byte(before+after), len(before), desk).Items {
			labels = append(labels, i.Label)
		}
		want := strings.Fields(c.want)
		if len(want) == 0 || !slices.Equal(labels[:min(len(want), len(labels))], want) {
			t.Errorf("%s: got %v, want %v first", c.name, labels, want)
		}
	}
}

// fieldsOf returns the names of the arguments and blocks of a kind, without one.
func fieldsOf(l *Language, key, without string) string {
	var names []string
	for _, f := range l.Kind(key).Spec {
		if f.Name != without {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, " ")
}

func TestACharacterInvitesCompletionWhereANameCanFollow(t *testing.T) {
	l := NewLanguage(all.Set().Kinds())
	for text, want := range map[string]bool{
		`http "`: true, `title = "a"`: false, `text = "${`: true, "input \"a\" {": false, `when = "input.`: true,
	} {
		src := "tool \"x\" {\n  " + text
		if got := l.IsInvited([]byte(src), len(src), text[len(text)-1:]); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// A place to fill in has a text of its own for an editor that cannot fill it in.
func TestASnippetWithoutItsPlaces(t *testing.T) {
	i := Item{Insert: "http \"${1|a,b|}\" { get = \"/${2:path}/\\${input.id}\" }$0", Snippet: true}
	if got, want := i.Plain(), `http "a" { get = "/path/${input.id}" }`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A half-typed file has no syntax, so a completion at every byte of one must neither fail nor take long.
func TestCompletionAtEveryByteOfUnfinishedFiles(t *testing.T) {
	for _, name := range []string{"../../../examples/desk/tickets.hcl", "../../../examples/orders/orders.test.hcl"} {
		l := NewLanguage(all.Set().Kinds())
		cfg := loadFolder(t, filepath.Dir(name))
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i <= len(src); i += 29 {
			l.Complete(cfg, src[:i], i, nil)
		}
	}
}

// Somebody else's file is as long and as nested as a file may be, in ways that no author writes.
func TestHostileTextsAreReadInProportionToTheirLength(t *testing.T) {
	l, cfg := loadCase(t, fstest.MapFS{"a.hcl": {Data: []byte(project)}})
	for _, piece := range []string{"tool \"x\" {\n a = <<A\n", "(", "{", "([{\"${", "a = <<A\n", "\"${", ")]}"} {
		text := strings.Repeat(piece, 1<<14/len(piece)) + "]tool \"x\" {\n  text = input."
		l.Complete(cfg, []byte(text), len(text), nil)
	}
}

func BenchmarkCompletionInAFolderOfAThousandFiles(b *testing.B) {
	files := fstest.MapFS{"a.hcl": {Data: []byte(project)}}
	for n := range 1000 {
		files[fmt.Sprintf("tool_%d.hcl", n)] = &fstest.MapFile{Data: fmt.Appendf(nil, "tool \"tool_%d\" {\n"+
			"  description = \"Returns orders.\"\n%s  http \"shop\" { get = \"/x/${input.a0}\" }\n}\n", n,
			strings.Repeat("  input \"a%d\" { type = optional(string(\"A text\")) }\n", 1)+inputs(35))}
	}
	for name, data := range files {
		files[name].Data = []byte(strings.ReplaceAll(string(data.Data), "a%d\"", "first\""))
	}
	l, cfg := loadCase(b, files)
	src := []byte(inTool("http \"shop\" {\n    get = \"/x/${input.\n  }"))
	offset := strings.Index(string(src), "input.\n") + len("input.")
	for b.Loop() {
		if len(l.Complete(cfg, src, offset, nil).Items) == 0 {
			b.Fatal("no items")
		}
	}
}

func inputs(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf("  input \"a%d\" { type = optional(string(\"A text\")) }\n", i)
	}
	return text
}
