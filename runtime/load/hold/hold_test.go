package hold

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/hcl/surface"
	"hatchel/runtime/load/access"
)

// load returns a configuration with this revision.
func load(t testing.TB, src string) *hcl.Config {
	t.Helper()
	return loadFiles(t, map[string]string{"a.hcl": src})
}

func loadFiles(t testing.TB, texts map[string]string) *hcl.Config {
	t.Helper()
	files := fstest.MapFS{}
	for name, text := range texts {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	cfg, diags := hcl.Load(files, all.Set().Kinds(), hcl.Options{}.ForCheck())
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return cfg
}

func lockOf(cfg *hcl.Config) fstest.MapFS {
	return fstest.MapFS{surface.LockName: {Data: access.Surface(cfg, nil).Lock()}}
}

func key(name string) string {
	return fmt.Sprintf("api_key %q { sha256 = %q }\n", name, strings.Repeat(fmt.Sprintf("%02x", name[0]), 32))
}

const served = `
auth {
  KEYS
}
tool "pay" {
  description = "Pay an invoice."
  input "amount" { type = number }
  text = "paid"
}
tool "look" {
  description = "Look."
  text        = "seen"
}
`

var loads = []struct {
	claim, class string
	before       func(src string) string
	after        func(src string) string
	held         []string
}{
	{claim: "nothing waits without a difference", class: "any"},
	{claim: "a required input is breaking", class: "breaking",
		after: replace(`input "amount"`, `input "id" { type = string }
  input "amount"`), held: []string{"breaking pay.input.id: "}},
	{claim: "a new tool is no breaking change", class: "breaking", after: add(`tool "more" {
  description = "More."
  text        = "x"
}`)},
	{claim: "a new tool is a widening", class: "widening", after: add(`tool "more" {
  description = "More."
  text        = "x"
}`), held: []string{"widening everyone: gains more", "widening more: tool added"}},
	{claim: "a description is read by models", class: "behaviour",
		after: replace("Pay an invoice.", "Pay it now."), held: []string{"behaviour pay.description: "}},
	{claim: "a stricter rule does not wait", class: "any", after: add(`policy "a" {
  tools = ["pay"]
  deny  = "true"
}`)},
	{claim: "a weaker rule waits, and says who gains", class: "widening", before: add(`policy "a" {
  tools = ["pay"]
  deny  = "'sales' in caller.groups"
}`), held: []string{"widening group sales: gains pay", "widening policy a.deny: "}},
	{claim: "a credential that is removed does not wait", class: "any", after: replace(key("ada"), "")},
	{claim: "a credential that is added waits", class: "widening", before: replace(key("ada"), ""),
		held: []string{"widening auth.key ada: "}},
	{claim: "hold waits until it may hold less", class: "breaking", before: add(`server { hold = "any" }`),
		after: add(`server { hold = "widening" }`), held: []string{"breaking server.hold: hold any → widening"}},
}

func replace(old, new string) func(string) string {
	return func(src string) string { return strings.Replace(src, old, new, 1) }
}

func add(more string) func(string) string { return func(src string) string { return src + more } }

func TestAReloadWaitsForTheDifferencesOfItsClass(t *testing.T) {
	for _, test := range loads {
		t.Run(test.claim, func(t *testing.T) {
			src := strings.Replace(served, "KEYS", key("ada")+key("bob"), 1)
			before, after := src, src
			if test.before != nil {
				before = test.before(src)
			}
			if test.after != nil {
				after = test.after(src)
			}
			old, next := load(t, before), load(t, after)
			for _, started := range []bool{false, true} {
				g := Checker{Class: test.class}
				if started { // the checker knows that the served configuration is that of the lock
					g.Decide(lockOf(old), new(hcl.Config), old)
				}
				d := g.Decide(lockOf(old), old, next)
				if (d.Held != nil) != (test.held != nil) || d.Diagnostics.HasErrors() != (d.Held != nil) {
					t.Fatalf("held %+v, %v", d.Held, d.Diagnostics)
				}
				if d.Held != nil && !slices.EqualFunc(d.Held.Lines(), test.held, strings.HasPrefix) {
					t.Errorf("held by %q, not by %q", d.Held.Lines(), test.held)
				}
			}
		})
	}
}

// TestAReloadWaitsForAnotherIdentity changes as whom the calls of a connection act, also by a local of another file.
func TestAReloadWaitsForAnotherIdentity(t *testing.T) {
	base := map[string]string{
		"main.hcl": `connection "postgres" "desk" {
  instances = { eu = "postgres://app@eu/desk", us = "postgres://app@us/desk" }
  instance  = caller.claims.region
  role      = local.roles[caller.claims.plan]
  session   = { "app.tenant" = caller.claims.tenant, "app.groups" = jsonencode(caller.groups) }
}
tool "list" {
  description = "List the tickets."
  sql "desk" { query = "SELECT id FROM tickets LIMIT 10" }
}
`,
		"locals.hcl": "locals { roles = { free = \"tenant_ro\", paid = \"tenant_rw\" } }\n",
	}
	served := loadFiles(t, base)
	for _, c := range []struct{ old, new, held string }{
		{`"app.groups" = jsonencode(caller.groups)`, ``, `widening connection postgres desk.session."app.groups": acts as another`},
		{`caller.claims.tenant`, `caller.headers.x-tenant`, `widening connection postgres desk.session."app.tenant": acts as another`},
		{`caller.claims.tenant`, `coalesce(caller.claims.tenant, "public")`, `widening connection postgres desk.session."app.tenant": acts as another`},
		{`  role      = local.roles[caller.claims.plan]`, ``, "widening connection postgres desk.role: acts as another"},
		{`"tenant_rw"`, `"owner"`, "widening connection postgres desk.role: role added: owner"},
		{`caller.claims.region`, `"eu"`, "widening connection postgres desk.instance: acts as another"},
		{`app@us/desk`, `app@eu/desk`, "widening connection postgres desk.instances.us: acts as another"},
	} {
		changed := map[string]string{}
		for name, text := range base {
			changed[name] = strings.Replace(text, c.old, c.new, 1)
		}
		next := loadFiles(t, changed)
		g := Checker{Class: "widening"}
		d := g.Decide(lockOf(served), served, next)
		isLine := func(line string) bool { return strings.HasPrefix(line, c.held) }
		if d.Held == nil || !slices.ContainsFunc(d.Held.Lines(), isLine) {
			t.Errorf("%s → %s: held by %+v, not by %q", c.old, c.new, d.Held, c.held)
		}
		g = Checker{Class: "widening"}
		if d := g.Decide(lockOf(next), served, next); d.Held != nil {
			t.Errorf("%s → %s: held although the lock has it: %+v", c.old, c.new, d.Held)
		}
	}
}

func TestAReloadWaitsForALockThatCannotBeRead(t *testing.T) {
	old, next := load(t, `tool "a" {
  description = "A."
  text        = "x"
}`), load(t, `tool "a" {
  description = "B."
  text        = "x"
}`)
	for text, want := range map[string]string{
		"":                              "There is no hatchel.lock.json.",
		"{":                             "hatchel.lock.json cannot be used: ",
		"<<<<<<< HEAD\n":                "merge markers",
		`{"version": 99, "tools": {} }`: "version 99",
	} {
		fsys := fstest.MapFS{}
		if text != "" {
			fsys[surface.LockName] = &fstest.MapFile{Data: []byte(text)}
		}
		c := Checker{Class: "breaking"}
		if d := c.Decide(fsys, old, next); d.Held == nil || !strings.Contains(d.Held.Problem, want) {
			t.Errorf("with the lock %q the reload is held by %+v", text, d.Held)
		}
	}
}

func TestTheStartIsServedWithAWarning(t *testing.T) {
	c := Checker{Class: "breaking"}
	d := c.Decide(fstest.MapFS{}, new(hcl.Config), load(t, `tool "a" {
  description = "A."
  text        = "x"
}`))
	if errs, warnings := d.Diagnostics.Counts(); d.Held != nil || errs != 0 || warnings != 1 {
		t.Errorf("the start is held by %+v, %v", d.Held, d.Diagnostics)
	}
}

// BenchmarkDifferences compares two loads of 1,000 files with a tool each, of which one was edited, as a reload does
// after its swap.
func BenchmarkDifferences(b *testing.B) {
	cache := hcl.NewCache()
	reload := func(edited string) *hcl.Config {
		files := fstest.MapFS{"policy.hcl": {Data: []byte("policy \"p\" { deny = \"'guests' in caller.groups\" }\n")}}
		for i := range 1000 {
			text := "Does it."
			if i == 500 {
				text = edited
			}
			files[fmt.Sprintf("t%d.hcl", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "tool \"t%d\" {\n  description = %q\n"+
				"  input \"n\" { type = integer }\n  text = \"${input.n}\"\n}\n", i, text)}
		}
		cfg, diags := hcl.Load(files, hcl.Kinds{}, hcl.Options{Cache: cache}.ForCheck())
		if diags.HasErrors() {
			b.Fatal(diags)
		}
		return cfg
	}
	served, loaded := reload("Does it."), reload("Does that.")
	for b.Loop() {
		if n := len(Differences(served, loaded)); n != 1 {
			b.Fatalf("%d differences", n)
		}
	}
}

// TestAReloadWaitsForAWiderSignIn changes whom sign_in lets in, and through which clients.
func TestAReloadWaitsForAWiderSignIn(t *testing.T) {
	const base = `auth {
  sign_in {
    url            = "https://tools.example"
    provider       = "https://id.example"
    client_id      = "tools"
    assertion_file = "/run/token"
    allow          = "'finance' in caller.groups"
    documents      = ["claude.ai"]
  }
}
tool "look" {
  description = "Look."
  text        = "seen"
}
`
	served := load(t, base)
	for _, c := range []struct{ old, new, held string }{
		{`["claude.ai"]`, `["claude.ai", "vscode.dev"]`, "widening auth.sign_in.documents: documents added: vscode.dev"},
		{`"'finance' in caller.groups"`, `"'finance' in caller.groups || 'staff' in caller.groups"`, "widening auth.sign_in.allow: "},
		{`"https://id.example"`, `"https://other.example"`, "widening auth.sign_in.provider: "},
		{`documents `, "register { redirects = [\"loopback\"] }\n    documents ", "widening auth.sign_in.register: added: "},
		{`["claude.ai"]`, `[]`, ""},
		{`"'finance' in caller.groups"`, `"'finance' in caller.groups && 'board' in caller.groups"`, ""},
	} {
		changed := load(t, strings.Replace(base, c.old, c.new, 1))
		d := (&Checker{Class: "widening"}).Decide(lockOf(served), served, changed)
		switch {
		case c.held == "" && d.Held != nil:
			t.Errorf("%s: held by %q", c.new, d.Held.Lines())
		case c.held != "" && (d.Held == nil || !slices.ContainsFunc(d.Held.Lines(), func(line string) bool { return strings.HasPrefix(line, c.held) })):
			t.Errorf("%s: held by %v, not by %q", c.new, d.Held, c.held)
		}
	}
}
