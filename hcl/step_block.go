package hcl

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
)

// An act is a block of a step that the language itself understands. It is decoded as backends are, and no adapter knows it.
type act struct {
	BackendKind
	beside []string // what the step may hold beside it
	ends   bool     // no call goes on after it
}

var (
	besideAct = []string{"when", "each", "parallel"}
	besideEnd = []string{"when"}
	besideAsk = []string{"when", "on_error", "expect"}
)

var acts = []act{
	{BackendKind{Name: "progress", Doc: "Tells a client that asked for it how far the call is. Stands in a step, which has no result.", New: func() (Described, Spec) { p := &Progress{}; return p, p.spec() }}, besideAct, false},
	{BackendKind{Name: "log", Doc: "Sends a message to the log of the client, if it wants messages of the level. Stands in a step, which has no result.", New: func() (Described, Spec) { l := &Log{Level: "info"}; return l, l.spec() }}, besideAct, false},
	{BackendKind{Name: "wait", Doc: "Does nothing for a while. Stands in a step, which has no result.", New: func() (Described, Spec) { w := &Wait{}; return w, w.spec() }}, besideAct, false},
	{BackendKind{Name: "fail", Doc: "Ends the call as one that failed, in words for the model. Stands in a step, mostly with a `when`; what follows can rely on that not holding.", New: func() (Described, Spec) { f := &Fail{}; return f, f.spec() }}, besideEnd, true},
	{BackendKind{Name: "fault", Doc: "Ends the request with an error of the protocol: the request itself was wrong, and the model is not told. Stands in a step, mostly with a `when`.", New: func() (Described, Spec) { f := &ProtocolFault{Code: invalidParams}; return f, f.spec() }}, besideEnd, true},
}

func actNamed(name string) (act, bool) {
	for _, a := range acts {
		if a.Name == name {
			return a, true
		}
	}
	return act{}, false
}

func actNames() (names []string) {
	for _, a := range acts {
		names = append(names, a.Name)
	}
	return names
}

// isAct reports whether a block stands in steps only, and is no backend of an adapter.
func isAct(name string) bool {
	_, ok := actNamed(name)
	return ok || name == "ask"
}

// actSpecs let the language's own blocks of a step stand in a body; what they hold is checked where they are decoded.
func actSpecs() (spec Spec) {
	ignore := func(*decoder, *hclsyntax.Block) {}
	for _, a := range acts {
		spec = append(spec, labelled(a.Name, "", "", noSpec, ignore))
	}
	return append(spec, labelled("ask", "name", "", noSpec, ignore))
}

// silent is what a block says of itself that changes nothing and gives nothing.
var silent = Facts{Output: &schema.Type{Kind: schema.Null}, ReadOnly: true, Idempotent: true}

// gives reports whether a step has a result that can be read.
func (b *Backend) gives() bool { return b.Facts.Output.Kind != schema.Null }

// ends reports whether the block ends the call.
func (b *Backend) ends() bool {
	a, own := actNamed(b.Kind)
	return own && a.ends
}

// fitting reports what a step holds that has no meaning beside the block that it does, which is of a kind.
func (w *workDecl) fitting(b *hclsyntax.Block, kind string, may []string) {
	for _, name := range []string{"each", "parallel", "on_error"} {
		if a := b.Body.Attributes[name]; a != nil && !slices.Contains(may, name) {
			w.dec.errorf(a.NameRange, "Does not apply here", "A step with %s takes %s, and no %s.", kind, strings.Join(may, ", "), name)
		}
	}
	for _, nested := range b.Body.Blocks {
		if name := nested.Type; (name == "repeat" || name == "expect") && !slices.Contains(may, name) {
			w.dec.errorf(nested.TypeRange, "Does not apply here", "A step with %s takes %s, and no %s.", kind, strings.Join(may, ", "), name)
		}
	}
}
