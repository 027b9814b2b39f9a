package hcl_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	. "hatchel/hcl"
)

// reloaded loads twice with one cache, with an edit between, and compares with a load that knows nothing.
func reloaded(t *testing.T, before, after fstest.MapFS, opts Options) (first, second *Config) {
	opts.Cache = NewCache()
	first, _ = Load(before, all.Set().Kinds(), opts)
	second, diags := Load(after, all.Set().Kinds(), opts)
	opts.Cache = nil
	fresh, want := Load(after, all.Set().Kinds(), opts)
	if got, want := string(printed(t, diags, second.Sources)), string(printed(t, want, fresh.Sources)); got != want {
		t.Fatalf("the reload says\n%s\nand a fresh load says\n%s", got, want)
	}
	if second.ID != fresh.ID || string(listed(second)) != string(listed(fresh)) {
		t.Fatalf("the reload differs from a fresh load:\n%s\n%s", listed(second), listed(fresh))
	}
	again := works(fresh)
	for i, w := range works(second) {
		if w.Digest != again[i].Digest {
			t.Errorf("the digest of %s differs from that of a fresh load", w.Name)
		}
	}
	return first, second
}

// works are the tools, the prompts and the resources.
func works(c *Config) (all []*Operation) {
	for _, t := range c.Tools {
		all = append(all, &t.Operation)
	}
	for _, p := range c.Prompts {
		all = append(all, &p.Operation)
	}
	for _, r := range c.Resources {
		all = append(all, &r.Operation)
	}
	return all
}

func files(pairs ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fsys
}

const (
	shop    = `connection "http" "shop" { base_url = "https://a.example" }` + "\n"
	getTool = "tool %q {\n  description = \"Gets with ${local.x}.\"\n  http \"shop\" { get = \"/%s\" }\n}\n"
	someX   = "locals { x = 1 }\n"
)

func tool(t *testing.T, c *Config, name string) *Tool {
	i := slices.IndexFunc(c.Tools, func(t *Tool) bool { return t.Name == name })
	if i < 0 {
		t.Fatalf("no tool %q", name)
	}
	return c.Tools[i]
}

func TestUnchangedToolsAreKept(t *testing.T) {
	a, b := fmt.Sprintf(getTool, "a", "a"), fmt.Sprintf(getTool, "b", "b")
	first, second := reloaded(t, files("main.hcl", shop+someX, "a.hcl", a, "b.hcl", b), files("main.hcl", shop+someX, "a.hcl", a, "b.hcl", b+"\n# edited\n"), Options{})
	if tool(t, first, "a") != tool(t, second, "a") {
		t.Error("the tool of an unchanged file was decoded again")
	}
	if tool(t, first, "b") == tool(t, second, "b") {
		t.Error("the tool of a changed file was kept")
	}
	if first.Connections[0] != second.Connections[0] || second.Connections[0] != tool(t, second, "b").Steps[0].Backend.Connection {
		t.Error("an unchanged connection has become another")
	}
}

// While a file is edited, it has a syntax error most of the time.
func TestASyntaxErrorInAFileKeepsTheToolsOfTheOthers(t *testing.T) {
	a, b := fmt.Sprintf(getTool, "a", "a"), fmt.Sprintf(getTool, "b", "b")
	missing := strings.ReplaceAll(fmt.Sprintf(getTool, "c", "c"), "shop", "store")
	whole := files("main.hcl", shop+someX, "a.hcl", a, "b.hcl", b, "c.hcl", missing)
	broken := files("main.hcl", shop+someX, "a.hcl", a, "b.hcl", b+"tool", "c.hcl", missing)
	first, second := reloaded(t, whole, broken, Options{})
	if tool(t, first, "a") != tool(t, second, "a") {
		t.Error("the tool of an unchanged file was decoded again")
	}
	reloaded(t, broken, whole, Options{})
	opts := Options{Cache: NewCache()}
	third, _ := Load(whole, all.Set().Kinds(), opts)
	Load(broken, all.Set().Kinds(), opts)
	if last, _ := Load(whole, all.Set().Kinds(), opts); tool(t, third, "a") != tool(t, last, "a") {
		t.Error("the tool was decoded again after the syntax error was mended")
	}
}

func TestEverythingThatToolsSeeMakesThemNew(t *testing.T) {
	a := fmt.Sprintf(getTool, "a", "${input.id}")
	a = a[:len(a)-2] + "  input \"id\" { type = type.id }\n}\n"
	types := "type \"id\" { is = string }\n"
	base := shop + someX + types
	env := map[string]string{"HATCHEL_VAR_v": "one"}
	opts := Options{Getenv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	for what, after := range map[string]string{
		"a connection": `connection "http" "shop" { base_url = "https://b.example" }` + "\n" + someX + types,
		"a local":      shop + "locals { x = 2 }\n" + types,
		"a type":       shop + someX + "type \"id\" { is = integer }\n",
		"a line":       "\n" + base,
	} {
		first, second := reloaded(t, files("main.hcl", base, "a.hcl", a), files("main.hcl", after, "a.hcl", a), opts)
		if tool(t, first, "a") == tool(t, second, "a") {
			t.Errorf("%s has changed, and the tool was kept", what)
		}
	}
	opts.Cache = NewCache()
	withVar := files("main.hcl", shop+someX+types+"variable \"v\" {}\n", "a.hcl", a+"tool \"v\" {\n  description = \"x\"\n  text = var.v\n}\n")
	first, _ := Load(withVar, all.Set().Kinds(), opts)
	env["HATCHEL_VAR_v"] = "two"
	second, _ := Load(withVar, all.Set().Kinds(), opts)
	text, err := tool(t, second, "v").Text.Append(nil, callFrame(t.Context()))
	if err != nil || string(text) != "two" || first.ID == second.ID {
		t.Errorf("the tool says %q after the variable has changed: %v", text, err)
	}
}

func TestToolsThatLookElsewhereAreDecodedAgain(t *testing.T) {
	caller := "tool \"caller\" {\n  description = \"Calls.\"\n  step \"s\" {\n    tool \"target\" { n = 1 }\n  }\n  text = \"x\"\n}\n"
	target := "tool \"target\" {\n  description = \"Is called.\"\n  input \"n\" { type = %s }\n  text = \"${input.n}\"\n}\n"
	first, second := reloaded(t, files("c.hcl", caller, "t.hcl", fmt.Sprintf(target, "integer")), files("c.hcl", caller, "t.hcl", fmt.Sprintf(target, "string")), Options{})
	if tool(t, first, "caller") == tool(t, second, "caller") {
		t.Error("a tool was kept although the tool that it calls has changed")
	}
	reader := "tool \"reader\" {\n  description = file(\"about.txt\")\n  text = \"x\"\n}\n"
	_, second = reloaded(t, files("r.hcl", reader, "about.txt", "One."), files("r.hcl", reader, "about.txt", "Two."), Options{})
	if got := tool(t, second, "reader").Description; got != "Two." {
		t.Errorf("the description is %q after the file has changed", got)
	}
	global := "locals { about = file(\"about.txt\") }\n"
	told := "tool \"told\" {\n  description = local.about\n  text = \"x\"\n}\n"
	_, second = reloaded(t, files("g.hcl", global, "r.hcl", told, "about.txt", "One."), files("g.hcl", global, "r.hcl", told, "about.txt", "Two."), Options{})
	if got := tool(t, second, "told").Description; got != "Two." {
		t.Errorf("the description is %q after the file of a local has changed", got)
	}
}

func TestKeptToolsStillCount(t *testing.T) {
	a := fmt.Sprintf(getTool, "a", "a")
	main := shop + someX + "variable \"v\" { default = 1 }\n"
	reader := "tool \"v\" {\n  description = \"x\"\n  text = \"${var.v}\"\n}\n"
	reloaded(t, files("main.hcl", main, "a.hcl", a, "v.hcl", reader), files("main.hcl", main, "a.hcl", a, "v.hcl", reader, "new.hcl", "# nothing\n"), Options{})
	reloaded(t, files("main.hcl", main, "a.hcl", a, "v.hcl", reader), files("main.hcl", main, "a.hcl", a), Options{})
	reloaded(t, files("main.hcl", main, "a.hcl", a), files("main.hcl", main, "a.hcl", a, "b.hcl", fmt.Sprintf(getTool, "a", "twice")), Options{})
	reloaded(t, files("main.hcl", main, "a.hcl", a), files("main.hcl", main, "a.hcl", a, "broken.hcl", "tool {"), Options{})
	reloaded(t, files("main.hcl", main, "a.hcl", a, "broken.hcl", "tool {"), files("main.hcl", main, "a.hcl", a), Options{})
	mistaken := "tool \"m\" {\n  description = \"`typo` is no input\"\n  text = var.w\n}\n"
	reloaded(t, files("main.hcl", main, "m.hcl", mistaken), files("main.hcl", main, "m.hcl", mistaken, "typo.hcl", "tool \"typo\" {\n  description = \"x\"\n  text = \"x\"\n}\n"), Options{})
}

func TestUnchangedPromptsAndResourcesAreKept(t *testing.T) {
	said := "prompt \"p\" {\n  description = \"Says ${local.x}.\"\n  message \"user\" { text = \"Hello.\" }\n}\n"
	held := "resource \"r\" {\n  uri_template = \"r://{id}\"\n  text = \"${input.id}\"\n}\n"
	a := fmt.Sprintf(getTool, "a", "a")
	before := files("main.hcl", shop+someX, "a.hcl", a+said+held)
	first, second := reloaded(t, before, files("main.hcl", shop+someX, "a.hcl", a+said+held, "b.hcl", "# new\n"), Options{})
	if first.Prompts[0] != second.Prompts[0] || first.Resources[0] != second.Resources[0] {
		t.Error("the prompt or the resource of an unchanged file was decoded again")
	}
	edited := strings.ReplaceAll(said, "Hello", "Goodbye")
	first, second = reloaded(t, files("main.hcl", shop+someX, "a.hcl", a, "p.hcl", said), files("main.hcl", shop+someX, "a.hcl", a, "p.hcl", edited), Options{})
	if first.Prompts[0] == second.Prompts[0] {
		t.Error("the prompt of a changed file was kept")
	}
	if tool(t, first, "a") != tool(t, second, "a") {
		t.Error("a tool was decoded again because a prompt has changed")
	}
	first, second = reloaded(t, before, files("main.hcl", shop+"locals { x = 2 }\n", "a.hcl", a+said+held), Options{})
	if first.Prompts[0] == second.Prompts[0] || second.Prompts[0].Description != "Says 2." {
		t.Errorf("a local has changed, and the prompt says %q", second.Prompts[0].Description)
	}
	reloaded(t, before, files("main.hcl", shop+someX, "a.hcl", held+said+a), Options{})
	reloaded(t, before, files("main.hcl", shop+someX, "a.hcl", a+said+held, "b.hcl", held+said), Options{})
	reloaded(t, before, files("main.hcl", shop+someX, "a.hcl", a+said+held, "b.hcl", "toolset \"t\" { tools = [\"a\", \"b\"] }\n"), Options{})
}

func TestAPromptSeesTheToolThatItCallsChange(t *testing.T) {
	said := "prompt \"p\" {\n  description = \"Calls.\"\n  step \"s\" {\n    tool \"target\" {}\n  }\n  message \"user\" { text = step.s.text }\n}\n"
	target := "tool \"target\" {\n  description = \"Is called.\"\n  text = %q\n}\n"
	first, second := reloaded(t, files("p.hcl", said, "t.hcl", fmt.Sprintf(target, "one")), files("p.hcl", said, "t.hcl", fmt.Sprintf(target, "two")), Options{})
	if first.Prompts[0].Digest == second.Prompts[0].Digest {
		t.Error("the tool has changed, and the digest of the prompt has not")
	}
}

// A digest changes with everything that a block refers to, however far, and with nothing else.
func TestADigestIsOfEverythingThatABlockRefersTo(t *testing.T) {
	base := map[string]string{
		"local.hcl":  "locals {\n  base = \"https://a.example\"\n  url = \"${local.base}/api\"\n  about = file(\"about.txt\")\n  other = 1\n}\n",
		"type.hcl":   "type \"id\" { is = type.inner }\n",
		"inner.hcl":  "type \"inner\" { is = integer }\n",
		"var.hcl":    "variable \"v\" { default = \"one\" }\nvariable \"w\" { default = \"one\" }\n",
		"conn.hcl":   "connection \"http\" \"shop\" { base_url = local.url }\n",
		"about.txt":  "About.",
		"direct.txt": "Direct.",
		"r.hcl": "resource \"r\" {\n  uri_template = \"r://{id}\"\n  title = local.about\n  description = var.v\n  input \"id\" {\n    type = type.id\n" +
			"    complete {\n      http { get = file(\"direct.txt\") }\n    }\n  }\n  http \"shop\" { get = \"/${input.id}\" }\n}\n",
	}
	load := func(name, text string) (*Resource, *Connection) {
		fsys := fstest.MapFS{}
		for n, s := range base {
			fsys[n] = &fstest.MapFile{Data: []byte(s)}
		}
		if name != "" {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
		fsys["direct.txt"].Data = append([]byte("https://d.example/"), fsys["direct.txt"].Data...)
		config, diags := Load(fsys, all.Set().Kinds(), Options{})
		if diags.HasErrors() {
			t.Fatalf("%s: %s", name, printed(t, diags, config.Sources))
		}
		return config.Resources[0], config.Connections[0]
	}
	r, c := load("", "")
	for name, change := range map[string]struct {
		from, to             string
		resource, connection bool // changes
	}{
		"local.hcl":  {"a.example", "b.example", true, true},
		"inner.hcl":  {"integer", "string", true, false},
		"var.hcl":    {"\"v\" { default = \"one\"", "\"v\" { default = \"two\"", true, false},
		"conn.hcl":   {"local.url", "local.base", true, true},
		"about.txt":  {"About", "More", true, false},
		"direct.txt": {"Direct", "More", true, false},
		"r.hcl":      {"/${input.id}", "/x/${input.id}", true, false},
	} {
		other, conn := load(name, strings.Replace(base[name], change.from, change.to, 1))
		if (other.Digest != r.Digest) != change.resource {
			t.Errorf("%s: the digest of the resource changed: %t", name, other.Digest != r.Digest)
		}
		if (conn.Digest != c.Digest) != change.connection {
			t.Errorf("%s: the digest of the connection changed: %t", name, conn.Digest != c.Digest)
		}
	}
	for name, change := range map[string][2]string{"local.hcl": {"other = 1", "other = 2"}, "var.hcl": {"\"w\" { default = \"one\"", "\"w\" { default = \"two\""}} {
		if other, conn := load(name, strings.Replace(base[name], change[0], change[1], 1)); other.Digest != r.Digest || conn.Digest != c.Digest {
			t.Errorf("%s: what nobody reads has changed a digest", name)
		}
	}
}

// A connection keeps its pools as long as everything stays that it and its instances are made of.
func TestTheDigestOfAConnectionHasItsInstancesAndIdentities(t *testing.T) {
	const text = `
secret "eu" { env = "EU" }
secret "us" { env = "US" }
locals {
  roles  = { free = "tenant_ro" }
  unread = "a"
}
connection "postgres" "desk" {
  instances = { eu = secret.eu, us = "${secret.us}?application_name=tools" }
  instance  = caller.claims.region
  role      = local.roles[caller.claims.plan]
  session   = { "app.tenant" = caller.claims.tenant }
}
tool "t" {
  description = "Reads."
  sql "desk" { query = "SELECT 1 AS a" }
}`
	env := map[string]string{"EU": "postgres://a@eu.example/a", "US": "postgres://a@us.example/a"}
	digest := func(from, to string) string {
		getenv := func(name string) (string, bool) { return strings.Replace(env[name], from, to, 1), true }
		config := strings.Replace(text, from, to, 1)
		loaded, diags := Load(fstest.MapFS{"a.hcl": {Data: []byte(config)}}, all.Set().Kinds(), Options{Getenv: getenv})
		if diags.HasErrors() {
			t.Fatalf("%s: %s", to, printed(t, diags, loaded.Sources))
		}
		return loaded.Connections[0].Digest
	}
	before := digest("", "")
	for from, to := range map[string]string{
		"us.example": "usa.example", "=tools": "=tool", "tenant_ro": "tenant_rw", "claims.region": "claims.zone", "app.tenant": "app.org",
		"claims.tenant": "claims.org", "{ eu =": "{ eu2 =",
	} {
		if digest(from, to) == before {
			t.Errorf("%s in place of %s changes nothing", to, from)
		}
	}
	for from, to := range map[string]string{`unread = "a"`: `unread = "b"`, `"Reads."`: `"Reads it."`} {
		if digest(from, to) != before {
			t.Errorf("%s in place of %s changes the digest", to, from)
		}
	}
}

func TestParallelLoadIsTheSame(t *testing.T) {
	for _, name := range archives(t) {
		parallel := func(n int, do func(int)) {
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() { do(i) })
			}
			all.Wait()
		}
		_, want, sources := loadArchive(t, archive(t, name), nil)
		_, got, _ := loadArchive(t, archive(t, name), parallel)
		if a, b := string(printed(t, got, sources)), string(printed(t, want, sources)); a != b {
			t.Errorf("%s: in parallel\n%s\nin order\n%s", name, a, b)
		}
	}
}

// What waits was stored with the digests of its declarations. A program that computes other ones for the same files would
// void the approvals and end the calls that an earlier program has left to it, so these change with the format of the
// state only.
func TestDigestsOfTheSameFilesStayTheSame(t *testing.T) {
	c := offered(t, `
variable "limit" {
  type    = number
  default = 100
}
locals {
  currency = "EUR"
}
type "amount" { is = number }
connection "http" "bank" {
  base_url = "https://bank.example"
  retry { attempts = 2 }
}
policy "large" {
  tools   = ["pay*"]
  approve = "input.amount > var.limit"
}
tool "pay" {
  description = "Pay an amount."
  allow       = "'finance' in caller.groups || caller.subject == 'ann'"
  input "amount" { type = type.amount }
  input "to"     { type = string }
  approval {
    when    = "input.amount > 10 && input.to != \"self\""
    timeout = "10m"
  }
  step "money" {
    http "bank" {
      post = "/pay/${input.to}"
      json = { amount = input.amount, currency = local.currency }
    }
  }
  step "list" {
    each = [1, 2]
    http "bank" { get = "/payments/${each.value}" }
  }
  text = "paid ${input.amount} ${local.currency}"
}
tool "twice" {
  description = "Pay twice."
  input "to" { type = string }
  step "one" {
    tool "pay" {
      amount = 1
      to     = input.to
    }
  }
  text = "done"
}
resource "rates" {
  uri_template = "bank://rates/{of}"
  description  = "The rates."
  input "of" { type = string }
  http "bank" { get = "/rates/${input.of}" }
}
prompt "ask" {
  description = "Ask about a payment."
  argument "of" {}
  message "user" { text = "What of ${input.of}?" }
}
`)
	got := map[string]string{
		"connection": c.Connections[0].Digest, "policy": c.Policies[0].Digest, "policy.approve": c.Policies[0].Approve.Digest(),
		"resource": c.Resources[0].Digest, "prompt": c.Prompts[0].Digest, "pay": c.Tools[0].Digest, "twice": c.Tools[1].Digest,
		"pay.allow": c.Tools[0].Allow.Digest(), "pay.approval": c.Tools[0].Approvals[0].When.Digest(),
	}
	for name, want := range map[string]string{
		"connection": "78e75dcbe0fee9c199ba9200", "policy": "53eef697c2737b3faf5bfa97",
		"policy.approve": "630b5dec59f5eb25f10157a0", "resource": "790942f725158aa690357c1a",
		"prompt": "0683de1483acffc92ed1d3f9", "pay": "1d8ac48ca319bbb77703384e", "twice": "3864f7593bf108b2959cbb17",
		"pay.allow": "dc951a5fb3d69f0d9f5809f2", "pay.approval": "b96fc768d0d029adf291ead1",
	} {
		if got[name] != want {
			t.Errorf("the digest of %s is %s, not %s", name, got[name], want)
		}
	}
}
