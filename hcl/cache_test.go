package hcl

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/fstest"
)

// reloaded loads twice with one cache, with an edit between, and compares with a load that knows nothing.
func reloaded(t *testing.T, before, after fstest.MapFS, opts Options) (first, second *Config) {
	opts.Cache = NewCache()
	first, _ = Load(before, testKinds(), opts)
	second, diags := Load(after, testKinds(), opts)
	opts.Cache = nil
	fresh, want := Load(after, testKinds(), opts)
	if got, want := string(printed(t, diags, second.Sources)), string(printed(t, want, fresh.Sources)); got != want {
		t.Fatalf("the reload says\n%s\nand a fresh load says\n%s", got, want)
	}
	if second.ID != fresh.ID || string(listed(second)) != string(listed(fresh)) {
		t.Fatalf("the reload differs from a fresh load:\n%s\n%s", listed(second), listed(fresh))
	}
	for i, tool := range second.Tools {
		if tool.Digest != fresh.Tools[i].Digest {
			t.Errorf("the digest of %s differs from that of a fresh load", tool.Name)
		}
	}
	return first, second
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
	first, _ := Load(withVar, testKinds(), opts)
	env["HATCHEL_VAR_v"] = "two"
	second, _ := Load(withVar, testKinds(), opts)
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
