package hcl

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/schema"
)

// stepBlock is a step block of the language itself. It is decoded like a backend, without an
// adapter.
type stepBlock struct {
	BackendKind
	allowed  []string // arguments of the step that may accompany it
	endsCall bool     // it ends every call
}

var (
	allowedWithAction = []string{"when", "each", "parallel"}
	allowedWithEnd    = []string{"when"}
	allowedWithAsk    = []string{"when", "on_error", "expect"}
)

var stepBlocks = []stepBlock{
	{BackendKind{
		Name: "progress",
		Doc:  "Sends a progress notification to clients that requested it. Used in a step, which then has no result.",
		New:  func() (Describer, decode.Spec) { p := &Progress{}; return p, p.spec() },
	}, allowedWithAction, false},
	{BackendKind{
		Name: "log",
		Doc:  "Sends a log message to clients that enabled its level. Used in a step, which then has no result.",
		New:  func() (Describer, decode.Spec) { l := &Log{Level: "info"}; return l, l.spec() },
	}, allowedWithAction, false},
	{BackendKind{
		Name: "wait",
		Doc:  "Waits. Used in a step, which then has no result.",
		New:  func() (Describer, decode.Spec) { w := &Wait{}; return w, w.spec() },
	}, allowedWithAction, false},
	{BackendKind{
		Name: "fail",
		Doc: "Ends the call as failed, with a message for the model. Used in a step, usually with a `when`; " +
			"later steps can rely on its condition being false.",
		New: func() (Describer, decode.Spec) { f := &Fail{}; return f, f.spec() },
	}, allowedWithEnd, true},
	{BackendKind{
		Name: "fault",
		Doc: "Ends the request with a protocol error, for a request that is itself invalid; the model does " +
			"not see it. Used in a step, usually with a `when`.",
		New: func() (Describer, decode.Spec) { f := &ProtocolFault{Code: invalidParams}; return f, f.spec() },
	}, allowedWithEnd, true},
}

func findStepBlock(name string) (stepBlock, bool) {
	for _, a := range stepBlocks {
		if a.Name == name {
			return a, true
		}
	}
	return stepBlock{}, false
}

func stepBlockNames() (names []string) {
	for _, a := range stepBlocks {
		names = append(names, a.Name)
	}
	return names
}

// isStepBlock reports whether a block belongs to steps only and is not a backend of an adapter.
func isStepBlock(name string) bool {
	_, ok := findStepBlock(name)
	return ok || name == "ask"
}

// stepBlockSpecs accept the step blocks of the language in a body; their contents are checked by
// their decoders.
func stepBlockSpecs() (spec decode.Spec) {
	ignore := func(*decode.Decoder, *hclsyntax.Block) {}
	for _, a := range stepBlocks {
		spec = append(spec, decode.Blocks(a.Name, "", "", nil, ignore))
	}
	return append(spec, decode.Blocks("ask", "name", "", nil, ignore))
}

// noEffects are the effects of a block that changes nothing and has no output.
var noEffects = Effects{Output: &schema.Type{Kind: schema.Null}, ReadOnly: true, Idempotent: true}

// hasResult reports whether a step has a result that can be read.
func (b *Backend) hasResult() bool { return b.Effects.Output.Kind != schema.Null }

// endsCall reports whether the block ends the call.
func (b *Backend) endsCall() bool {
	a, own := findStepBlock(b.Kind)
	return own && a.endsCall
}

// checkMetaArguments reports arguments of a step that do not apply to its kind of block.
func (w *operationDecoder) checkMetaArguments(b *hclsyntax.Block, kind string, may []string) {
	for _, name := range []string{"each", "parallel", "on_error"} {
		if a := b.Body.Attributes[name]; a != nil && !slices.Contains(may, name) {
			w.dec.Errorf(a.NameRange, "Does not apply here", "A step with %s takes %s, not %s.", kind,
				strings.Join(may, ", "), name)
		}
	}
	for _, nested := range b.Body.Blocks {
		if name := nested.Type; (name == "repeat" || name == "expect") && !slices.Contains(may, name) {
			w.dec.Errorf(nested.TypeRange, "Does not apply here", "A step with %s takes %s, not %s.", kind,
				strings.Join(may, ", "), name)
		}
	}
}
