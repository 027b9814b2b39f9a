package main

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/hcl/syntax"
)

func TestEveryExampleOfTheReferenceLoadsAsItIsShown(t *testing.T) {
	entries, err := examples.ReadDir("examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		src, err := examples.ReadFile("examples/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if key := strings.TrimSuffix(e.Name(), path.Ext(e.Name())); !slices.Contains(topics(), key) || !strings.Contains(string(src), key) {
			t.Errorf("%s shows no block %s", e.Name(), key)
		}
		canonical, diags := syntax.Format(e.Name(), src)
		if len(diags) > 0 || !bytes.Equal(canonical, src) {
			t.Errorf("%s is not in the canonical style", e.Name())
		}
		for line := range strings.Lines(string(src)) {
			if len("    "+line) > width+1 {
				t.Errorf("%s is wider than a terminal: %s", e.Name(), line)
			}
		}
		_, diags = hcl.Load(fstest.MapFS{
			"example.hcl": {Data: src},
			"logo.png":    {Data: []byte("a picture")},
			"shop.hcl":    {Data: []byte("connection \"sqlite\" \"shop\" { file = \"shop.db\" }\n")},
		}, all.Set().Kinds(), hcl.Options{Getenv: func(string) (string, bool) { return "a secret of more than 24 characters", true }})
		for _, d := range diags {
			if d.Summary != "Unused connection" {
				t.Errorf("%s:%d: %s: %s", e.Name(), d.Subject.Start.Line, d.Summary, d.Detail)
			}
		}
	}
}

// What the language can do is shown; what an adapter does is told by its arguments.
func TestEveryBlockOfTheProtocolHasAnExample(t *testing.T) {
	for _, key := range []string{"tool", "prompt", "resource", "toolset", "auth", "tls", "policy", "input", "argument", "message", "complete", "cache", "check", "step", "ask", "elicit", "sample", "roots",
		"approval", "approvals", "webhook", "files", "state", "audit", "limit", "breaker", "idempotency", "task", "content", "annotations", "progress", "log", "wait", "fail", "fault"} {
		if _, err := examples.ReadFile("examples/" + key + ".hcl"); err != nil {
			t.Errorf("hatchel docs %s shows no example", key)
		}
	}
}
