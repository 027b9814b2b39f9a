// Package testblock decodes test blocks: calls of tools, prompts and resources with what their backends answer, and
// the expected results. It calls nothing.
package testblock

import (
	"time"

	"hatchel/hcl"
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/mock"
	"hatchel/hcl/value"
)

// Test is one call, that of a test block or of one element of its each, or one search, that of a search_test block. All
// its values are known, but for conditions.
type Test struct {
	Name     string // of the block, or the question; with each, followed by a slash and the key of the element
	Kind     string // "tool", "prompt", "resource" or "search"
	Target   string // the name of the tool, prompt or toolset, or the URI of the resource
	Tool     *hcl.Tool
	Args     map[string]any
	Now      time.Time // zero for the clock of the machine
	Page     int       // the page that is expected, from 1; 0 for the first
	Vars     map[string]string
	Secrets  map[string]string
	Caller   map[string]any // nil for a caller who is not known, as over stdio
	Mocks    []*mock.Mock
	Answers  map[string]map[string]any // of the client, by the key of the question
	Approve  *bool                     // the decision of an operator; nil for none
	After    []*After
	Expects  []*Expect
	Finds    []Found // that a search has to find
	Skip     string  // why it is not run
	OnlyLive bool    // it is skipped where no backend is asked for real
	Requires []string
	Timeout  time.Duration
	Range    diag.Range // of the header of the block
	Frame    *hcl.Frame // in which conditions are evaluated
}

// Found is the name of a tool that a search has to find.
type Found struct {
	Name  string
	Range diag.Range
}

// After is a query of the system that a mock is, when the call is over.
type After struct {
	Name, Kind, Connection string
	Args                   map[string]any
	Range                  diag.Range
}

// Expect is one expect block. Values has its arguments without the condition.
type Expect struct {
	Values map[string]any
	That   *hcl.Condition // nil for none
	Ranges map[string]diag.Range
	Range  diag.Range
}

// Fails reports whether the block expects that the call gives no result.
func (e *Expect) Fails() bool {
	for _, name := range []string{"error", "error_matches", "refused", "denied", "fault"} {
		if _, ok := e.Values[name]; ok {
			return true
		}
	}
	return false
}

// Set returns the variables and secrets that a test block sets. Mistakes are reported by Decode.
func Set(b hcl.TestBlock) (vars, secrets map[string]string) {
	d := &decode.Decoder{Env: &decode.Env{}, Src: b.Src}
	return readTexts(d, b, "vars"), readTexts(d, b, "secrets")
}

func readTexts(d *decode.Decoder, b hcl.TestBlock, name string) map[string]string {
	a := b.Body.Attributes[name]
	if a == nil {
		return nil
	}
	given, _ := d.CompileKnown(a.Expr, decode.Field{}).Value.(map[string]any)
	texts := make(map[string]string, len(given))
	for key, v := range given {
		text, ok := v.(string)
		if !ok {
			encoded, _ := value.AppendJSON(nil, v) // the value of a literal
			text = string(encoded)
		}
		texts[key] = text
	}
	return texts
}

// Duplicates reports tests of one name.
func Duplicates(blocks []hcl.TestBlock) (diags diag.Diagnostics) {
	first := map[string]diag.Range{}
	for _, b := range blocks {
		name, at := b.Labels[0], diag.RangeOf(b.LabelRanges[0])
		if other, twice := first[name]; twice {
			diags.Errorf(at, "Duplicate test", "The test %q is already declared at %s:%d.", name, other.File,
				other.Start.Line)
			diags.Relate(other)
			continue
		}
		first[name] = at
	}
	return diags
}
