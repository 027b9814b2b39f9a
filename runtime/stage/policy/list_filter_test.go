package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/edge/mcp"
)

func TestFilteredListsAreBounded(t *testing.T) {
	const tools = 9
	var src strings.Builder
	for i := range tools {
		fmt.Fprintf(&src, "tool \"t%d\" {\n description = \"x\"\n allow = \"'g%d' in caller.groups\"\n text = \"x\"\n}\n", i, i)
	}
	cfg, diags := hcl.Load(fstest.MapFS{"a.hcl": {Data: []byte(src.String())}}, hcl.Kinds{}, hcl.Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	rules, entries := map[string]*Rules{}, []mcp.Entry(nil)
	policies := New(cfg)
	for _, tool := range cfg.Tools {
		none := func(*hcl.Policy) bool { return false }
		rules[tool.Name] = policies.Rules("tool", &tool.Operation, ToolRoot(tool), none)
		entries = append(entries, mcp.Entry{Name: tool.Name, Legacy: []byte("{}"), Modern: []byte("{}")})
	}
	all := mcp.NewList(mcp.Tools, entries, mcp.ListOptions{})
	filter := NewListFilter(rules, nil)
	for set := range 1 << tools {
		groups := []any{}
		for i := range tools {
			if set&(1<<i) != 0 {
				groups = append(groups, fmt.Sprintf("g%d", i))
			}
		}
		frame := hcl.NewFrame(t.Context(), "", time.Now)
		frame.Caller = hcl.CallerMembers{"groups": groups}
		if n := filter.Filter(t.Context(), frame, all).Len(); n != len(groups) {
			t.Fatalf("%d tools for %v", n, groups)
		}
	}
	if n := len(filter.filtered); n > maxFilteredLists {
		t.Errorf("%d lists are kept", n)
	}
	if !filter.PerCaller() || !slices.Contains(all.Names(), "t0") {
		t.Error("the lists depend on the caller")
	}
}
