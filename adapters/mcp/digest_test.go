package mcp_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/adaptertest"
	"hatchel/adapters/mcp/definition/definitiontest"
	"hatchel/hcl"
)

// TestTheDigestOfAToolHasOnlyTheDefinitionThatItCalls is about approvals, results in the cache and paused calls, which a
// change of the digest voids.
func TestTheDigestOfAToolHasOnlyTheDefinitionThatItCalls(t *testing.T) {
	load := func(src adaptertest.Source, definitions ...string) *hcl.Config {
		t.Helper()
		files := fstest.MapFS{
			"main.hcl":          {Data: []byte(src.HCL)},
			"github.tools.json": {Data: []byte(definitiontest.Text(t, definitions...))},
		}
		config, diags := hcl.Load(files, testSet.Kinds(), hcl.Options{
			Getenv: func(name string) (string, bool) { v, ok := src.Env[name]; return v, ok },
		})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return config
	}
	src := source(t, "https://mcp.example/mcp", "", titled, `    call = "create_issue"`)
	reviewed := load(src, createIssue, deleteRepo)
	for what, other := range map[string]*hcl.Config{
		"changed": load(src, createIssue, strings.Replace(deleteRepo, "true}", "false}", 1)), "removed": load(src, createIssue),
	} {
		if other.Tools[0].Digest != reviewed.Tools[0].Digest {
			t.Errorf("%s: another definition is part of the digest of the tool", what)
		}
		if other.ID == reviewed.ID || other.Connections[0].Digest == reviewed.Connections[0].Digest {
			t.Errorf("%s: the definition is no part of the revision, or of the connection", what)
		}
	}
	if load(src, strings.Replace(createIssue, "Opens", "Sends", 1), deleteRepo).Tools[0].Digest == reviewed.Tools[0].Digest {
		t.Error("the definition is not part of the digest of the tool")
	}
}
