package hcl_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	. "hatchel/hcl"
)

func TestAVariablesFileHoldsOnlyNamesAndValues(t *testing.T) {
	_, diags := ParseVars("a.vars", []byte("a = 1\nb { }\nc = base64bytes(\"AA==\")\n"))
	var summaries []string
	for _, d := range diags {
		summaries = append(summaries, d.Summary)
	}
	if got := strings.Join(summaries, ", "); got != "Unexpected block, Invalid value" {
		t.Errorf("got %s", got)
	}
}

func TestAScriptHasAMaximumLength(t *testing.T) {
	src := "tool \"t\" {\n  description = \"Too long.\"\n  shell { script = \"" + strings.Repeat("x", 130_000) + "\" }\n}\n"
	_, diags := Load(fstest.MapFS{"a.hcl": {Data: []byte(src)}}, all.Set().Kinds(), Options{})
	if len(diags) != 1 || diags[0].Summary != "Script too long" {
		t.Errorf("got %v", diags)
	}
}
