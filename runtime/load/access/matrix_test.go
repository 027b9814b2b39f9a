package access

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/hcl"
	"hatchel/runtime/edge/mcp"
)

// load returns a configuration of one file.
func load(t testing.TB, src string) *hcl.Config {
	t.Helper()
	cfg, diags := hcl.Load(fstest.MapFS{"a.hcl": &fstest.MapFile{Data: []byte(src)}}, hcl.Kinds{}, hcl.Options{}.ForCheck())
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return cfg
}

// tools declares read-only tools with these names.
func tools(names ...string) (src string) {
	for _, name := range names {
		src += fmt.Sprintf("tool %q {\n description = \"Does it.\"\n input \"n\" { type = integer }\n text = \"x\"\n}\n", name)
	}
	return src
}

const key = "api_key %q {\n sha256 = %q\n groups = [%s]\n}\n"

// keys declares an API key for each name with these groups.
func keys(groups string, names ...string) string {
	var src strings.Builder
	for i, name := range names {
		fmt.Fprintf(&src, key, name, strings.Repeat(fmt.Sprintf("%02x", i+len(groups)), 32), groups)
	}
	return src.String()
}

// signIn has tools that need a scope: one that only the board is granted, and one that nobody is granted.
const signIn = `auth {
  sign_in {
    url            = "https://tools.example"
    provider       = "https://id.example"
    client_id      = "tools"
    assertion_file = "/run/token"
    group_names    = { g1 = "finance", g2 = "board", g3 = "staff" }
    scope "pay" {
      description = "Pay"
      allow       = "'board' in caller.groups"
    }
  }
}
tool "pays" {
  description = "Pays."
  scopes      = ["pay"]
  text        = "x"
}
tool "reads" {
  description = "Reads."
  scopes      = ["read"]
  text        = "x"
}
`

// admits has a sign_in block that admits callers by a rule.
func admits(rule string) string {
	block, _, _ := strings.Cut(signIn, "    scope ")
	return block + "    allow = " + fmt.Sprintf("%q", rule) + "\n  }\n}\n"
}

var matrices = []struct {
	claim, src string
	groups     []string
	as         *mcp.Identity
	want       string
}{
	{claim: "without rules and without authentication anyone may call", src: tools("look"), want: `
tool  anyone
look  yes
`},
	{claim: "people who sign in have the groups of group_names, and the scopes that these are granted", src: signIn + tools("look", "pay") + `
policy "staff" {
  tools = ["look"]
  allow = "'finance' in caller.groups || 'board' in caller.groups"
}
`, want: `
tool   no group  group board  group finance  group staff
look   no        yes          yes            no
pay    yes       yes          yes            yes
pays   no        yes          no             no
reads  no        no           no             no
`},
	{claim: "each answer has its word", src: tools("cut", "look", "pay", "wipe") + `
policy "a" {
  tools = ["cut"]
  deny  = "true"
}
policy "b" {
  tools = ["pay"]
  deny  = "input.n > 5"
}
policy "c" {
  tools   = ["wipe"]
  approve = "true"
}`, want: `
tool  anyone
cut   no
look  yes
pay   depends
wipe  approval

depends: the rules read the input of the call.
approval: the call needs an approval.
`},
	{claim: "an approval that reads the input makes the answer depend on it", src: tools("pay") + `
policy "large" { approve = "input.n > 5" }`, want: `
tool  anyone
pay   depends

depends: the rules read the input of the call.
`},
	{claim: "groups come from comparisons, lists, locals and keys", src: tools("look") + `
locals { staff = ["desk", "ops"] }
auth {
` + keys(`"shop"`, "ada") + `}
policy "a" { allow = "'board' in caller.groups || any(caller.groups, # in local.staff) || tool.name == 'other'" }`, want: `
tool  no group  group board  group desk  group ops  group shop  key ada
look  no        yes          yes         yes        no          no
`},
	{claim: "a subject that a rule names is a caller", src: tools("look") + `
auth {
  jwt {
    issuer   = "https://id.example"
    audience = "x"
  }
}
policy "a" { allow = "caller.subject == 'root'" }`, want: `
tool  no group  subject root
look  no        yes
`},
	{claim: "a part of a rule that is false for every input decides", src: tools("pay") + `
policy "a" { allow = "input.n > 5 and caller.subject == 'ann' or caller.subject == 'eva'" }`, want: `
tool  anyone  subject ann  subject eva
pay   no      depends      yes

depends: the rules read the input of the call.
`},
	{claim: "a local that is computed from the input leaves the answer open", src: `
tool "pay" {
  description = "Does it."
  input "n" { type = integer }
  locals { large = input.n > 5 }
  allow = "local.large and caller.subject == 'ann'"
  text  = "x"
}
tool "look" {
  description = "Does it."
  input "n" { type = integer }
  locals { large = caller.subject == "ann" || input.n > 5 }
  allow = "local.large"
  text  = "x"
}`, want: `
tool  anyone   subject ann
look  depends  yes
pay   no       depends

depends: the rules read the input of the call.
`},
	{claim: "subjects and groups that a rule tells apart without their names are callers", src: tools("look") + `
policy "a" { deny = "not (caller.subject matches '^(svc|bot)-[a-z]+$' or any(caller.groups, # startsWith 'eng-'))" }`, want: `
tool  anyone  group eng-  subject bot-x  subject svc-x
look  no      yes         yes            yes
`},
	{claim: "a beginning and an end are joined", src: tools("look") + `
policy "a" { allow = "caller.subject startsWith 'ann' ? caller.subject endsWith '@corp' : false" }`, want: `
tool  anyone  subject ann@corp
look  no      yes
`},
	{claim: "a subject in locals of a tool, through another local, is a caller", src: `
tool "pay" {
  description = "Does it."
  input "n" { type = integer }
  locals {
    who    = caller.subject
    chosen = contains(["eva", "ann"], local.who) ? input.n < 5 : false
  }
  allow = "local.chosen"
  text  = "x"
}`, want: `
tool  anyone  subject ann  subject eva
pay   no      depends      depends

depends: the rules read the input of the call.
`},
	{claim: "a denial that a part decides is no question of the input", src: tools("pay") + `
policy "a" { deny = "input.n > 5 or not (caller.subject == 'ann')" }`, want: `
tool  anyone  subject ann
pay   no      depends

depends: the rules read the input of the call.
`},
	{claim: "an approval that the caller decides is no question of the input", src: tools("pay") + `
policy "a" { approve = "input.n > 5 and caller.subject == 'bot'" }`, want: `
tool  anyone  subject bot
pay   yes     depends

depends: the rules read the input of the call.
`},
	{claim: "subjects of nested locals are callers, in every notation", src: tools("a", "b", "c", "d", "e", "f") + `
locals {
  map    = { "x.y" = ["ann"], z = { t = ["bob"] } }
  owners = { look = ["cid"] }
  roles  = { dan = "admin" }
  teams  = [{ members = ["eva"] }]
}
policy "a" {
  tools = ["a"]
  allow = "caller.subject in local['map']['x.y']"
}
policy "b" {
  tools = ["b"]
  allow = "caller['subject'] in (local?.map).z.t"
}
policy "c" {
  tools = ["c"]
  allow = "caller.subject in (local.owners[tool.name] ?? local.owners.look)"
}
policy "d" {
  tools = ["d"]
  allow = "local.roles[caller.subject ?? ''] == 'admin'"
}
policy "e" {
  tools = ["e"]
  allow = "any(local.teams, caller.subject in #.members)"
}
policy "f" {
  tools = ["f"]
  allow = "lower(caller.subject ?? '') == 'fay'"
}`, want: `
tool  anyone  subject ann  subject bob  subject cid  subject dan  subject eva  subject fay
a     no      yes          no           no           no           no           no
b     no      no           yes          no           no           no           no
c     no      no           no           yes          no           no           no
d     no      no           no           no           yes          no           no
e     no      no           no           no           no           yes          no
f     no      no           no           no           no           no           yes
`},
	{claim: "keys with the same answers share a column", src: tools("look", "pay") + `
auth {
` + keys(`"shop"`, "ada", "bob", "cid", "dan") + keys(`"shop", "board"`, "eva") + `}
policy "a" {
  tools = ["pay"]
  allow = "'board' in caller.groups && 'shop' in caller.groups"
}`, want: `
tool  no group  group board  group shop  key ada, bob, cid and 1 more  key eva
look  yes       yes          yes         yes                           yes
pay   no        no           no          no                            yes
`},
	{claim: "groups that are given are all callers, also several at once", src: tools("pay") + `
policy "a" { allow = "'board' in caller.groups && 'shop' in caller.groups" }`, groups: []string{"board", "board+shop"}, want: `
tool  group board  group board+shop
pay   no           yes
`},
	{claim: "a group whose name has a plus is one group", src: tools("pay") + `
policy "a" { allow = "'r+d' in caller.groups" }`, groups: []string{"r+d"}, want: `
tool  group r+d
pay   yes
`},
	{claim: "a group has the scopes that tools need, and a key has its own", src: strings.Replace(tools("pay"), "text =", `scopes = ["pay"]
text =`, 1) + `
auth {
` + keys(`"shop"`, "ada") + `}`, want: `
tool  no group  group shop  key ada
pay   yes       yes         no
`},
	{claim: "scopes that are given are all that callers have", src: strings.Replace(tools("pay"), "text =", `scopes = ["pay"]
text =`, 1), groups: []string{"a"}, as: &mcp.Identity{Scopes: []string{"look"}}, want: `
tool  group a
pay   no
`},
	{claim: "claims that nothing is known of are named", src: tools("pay") + `
policy "a" { deny = "caller.claims.employed == false" }`, groups: []string{"a"}, want: `
tool  group a
pay   yes

The answers are for callers without caller.claims.employed, which the rules read: give --claim or --header.
`},
	{claim: "claims that are given decide", src: tools("pay") + `
policy "a" { deny = "caller.claims.employed == false" }`, groups: []string{"a"},
		as: &mcp.Identity{Claims: []byte(`{"employed": false}`)}, want: `
tool  group a
pay   no
`},
	{claim: "whom sign_in refuses may call nothing, and a group that it refuses is joined with one that it admits", src: admits(
		"'staff' in caller.groups") + tools("look", "pay") + `
policy "a" {
  tools = ["pay"]
  allow = "'board' in caller.groups or caller.subject == 'ada' or any(caller.groups, # startsWith 'team-')"
}`, want: `
tool  no group  group staff+board  group staff+finance  group staff  group staff, subject ada  group staff+team-
look  no        yes                yes                  yes          yes                       yes
pay   no        yes                no                   no           yes                       yes

sign_in admits none of these callers: no group. Its allow is 'staff' in caller.groups (a.hcl:8).
A column such as "group staff+team-" is for a caller in both, because sign_in refuses a caller with the second alone. Its allow is 'staff' in caller.groups (a.hcl:8).
`},
	{claim: "what sign_in reads of a caller and is not known refuses nobody", src: admits(
		"caller.subject endsWith '@example.com'") + tools("look"), want: `
tool  no group  group board  group finance  group staff
look  yes       yes          yes            yes

Whom sign_in admits also depends on caller.subject, which the callers of the matrix do not have: ` +
		`caller.subject endsWith '@example.com' (a.hcl:8).
`},
	{claim: "whoever has a key does not sign in, and may come in a group that sign_in refuses", src: strings.Replace(admits(
		"'staff' in caller.groups"), "sign_in {", keys(`"shop"`, "bot")+"sign_in {", 1) + tools("look"), groups: []string{"shop"}, want: `
tool  group shop
look  no

sign_in admits none of these callers: group shop. Its allow is 'staff' in caller.groups (a.hcl:12).
`},
	{claim: "a rule that cannot be evaluated denies", src: tools("pay") + `
policy "a" { deny = "caller.claims.level + 1 > 2" }`, groups: []string{"a"},
		as: &mcp.Identity{Claims: []byte(`{"level": "high"}`)}, want: `
tool  group a
pay   no
`},
}

func TestTheMatrixSaysWhichCallerMayCallWhichTool(t *testing.T) {
	for _, test := range matrices {
		t.Run(test.claim, func(t *testing.T) {
			cfg := load(t, test.src)
			callers := Callers(cfg, test.as)
			if test.groups != nil {
				callers = InGroups(cfg, test.groups, test.as)
			}
			var got bytes.Buffer
			if err := New(cfg, callers).Text(&got); err != nil {
				t.Fatal(err)
			}
			if "\n"+got.String() != test.want {
				t.Errorf("got\n%s", got.String())
			}
		})
	}
}

func TestAMarkdownTableShowsNamesAsTheyAre(t *testing.T) {
	cfg := load(t, tools("look")+`policy "a" { allow = "'a|b' in caller.groups" }`)
	var got bytes.Buffer
	if err := New(cfg, InGroups(cfg, []string{"a|b"}, nil)).Markdown(&got); err != nil {
		t.Fatal(err)
	}
	const want = "| tool | group a&#124;b |\n| --- | --- |\n| look | yes |\n"
	if got.String() != want {
		t.Errorf("got\n%s", got.String())
	}
}

func TestAnswersNameOnlyTheCallersWhoDiffer(t *testing.T) {
	cfg := load(t, tools("look", "pay")+`
auth {
`+keys(`"board", "shop"`, "ada")+`}
policy "a" {
  tools = ["pay"]
  allow = "'board' in caller.groups || caller.subject == 'root'"
}`)
	got := fmt.Sprint(Surface(cfg, nil).Access)
	const want = "map[look:map[*:yes groups board+shop:yes] pay:map[*:no group board:yes groups board+shop:yes subject root:yes]]"
	if got != want {
		t.Errorf("got %s", got)
	}
}

// BenchmarkAnswers answers for 1,000 tools and 12 callers.
func BenchmarkAnswers(b *testing.B) {
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("tool_%d", i))
	}
	src := tools(names...)
	for i := range 10 {
		src += fmt.Sprintf("policy \"p%d\" { deny = \"'g%d' in caller.groups && tool.destructive\" }\n", i, i)
	}
	cfg := load(b, src)
	for b.Loop() {
		Surface(cfg, nil)
	}
}
