package hcl

import (
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
)

// acts are the blocks of a step that the language itself understands. They are decoded as backends are, and no adapter knows them.
var acts = []BackendKind{
	{Name: "progress", Doc: "Tells a client that asked for it how far the call is. Stands in a step, which has no result.", New: func() (Described, Spec) { p := &Progress{}; return p, p.spec() }},
	{Name: "log", Doc: "Sends a message to the log of the client, if it wants messages of the level. Stands in a step, which has no result.", New: func() (Described, Spec) { l := &Log{Level: "info"}; return l, l.spec() }},
	{Name: "wait", Doc: "Does nothing for a while. Stands in a step, which has no result.", New: func() (Described, Spec) { w := &Wait{}; return w, w.spec() }},
	{Name: "fail", Doc: "Ends the call as one that failed, in words for the model. Stands in a step, mostly with a `when`; what follows can rely on that not holding.", New: func() (Described, Spec) { f := &Fail{}; return f, f.spec() }},
	{Name: "fault", Doc: "Ends the request with an error of the protocol: the request itself was wrong, and the model is not told. Stands in a step, mostly with a `when`.", New: func() (Described, Spec) { f := &ProtocolFault{Code: invalidParams}; return f, f.spec() }},
}

func act(name string) (BackendKind, bool) {
	for _, k := range acts {
		if k.Name == name {
			return k, true
		}
	}
	return BackendKind{}, false
}

func actNames() (names []string) {
	for _, k := range acts {
		names = append(names, k.Name)
	}
	return names
}

// isAct reports whether a block stands in steps only, and is no backend of an adapter.
func isAct(name string) bool {
	_, ok := act(name)
	return ok || name == "ask"
}

// actSpecs let the language's own blocks of a step stand in a body; what they hold is checked where they are decoded.
var actSpecs = sync.OnceValue(func() (spec Spec) {
	ignore := func(*decoder, *hclsyntax.Block) {}
	for _, k := range acts {
		spec = append(spec, labelled(k.Name, "", "", noSpec, ignore))
	}
	return append(spec, labelled("ask", "name", "", noSpec, ignore))
})

// silent is what a block says of itself that changes nothing and gives nothing.
var silent = Facts{Output: &schema.Type{Kind: schema.Null}, ReadOnly: true, Idempotent: true}

// gives reports whether a step has a result that can be read.
func (b *Backend) gives() bool { return b.Facts.Output.Kind != schema.Null }

// ends reports whether the block ends the call.
func (b *Backend) ends() bool { return b.Kind == "fail" || b.Kind == "fault" }

// beside are what a step may hold beside each of the language's own blocks.
var beside = map[string][]string{
	"progress": {"when", "each", "parallel"}, "log": {"when", "each", "parallel"}, "wait": {"when", "each", "parallel"},
	"fail": {"when"}, "fault": {"when"}, "ask": {"when", "on_error", "expect"},
}

// fitting reports what a step holds that has no meaning for the block that it does.
func (w *workDecl) fitting(b *hclsyntax.Block, kind string) {
	may, own := beside[kind]
	if !own {
		return
	}
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
