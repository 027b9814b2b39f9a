package hcl

import (
	"slices"
	"sort"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// Backend is one decoded backend block. The blocks of a step that are none of an adapter are
// Backends all the same: Config is *ToolCall, *Progress, *Log,
// *Wait, *Fail, *ProtocolFault or, for the ask blocks of the step, *Round.
type Backend struct {
	Kind       string      // the name of the block
	Config     any         // the adapter's own type, or one of these
	Connection *Connection // the one its label names, or nil
	Effects    Effects
	Range      diag.Range
	ranges     map[any]diag.Range
}

// Effects are what is known at load of every call of a backend.
type Effects struct {
	Output  *schema.Type  // of the root `output`: an object whose members are documented for the backend
	Default DefaultResult // what a call answers when the tool does not say

	ReadOnly    bool // nothing changes
	Writes      bool // something certainly changes, so that read_only = true would be untrue
	Destructive bool // something may be lost: a DELETE, an overwritten file
	Idempotent  bool // doing it twice is doing it once
	OpenWorld   bool // it reaches systems beyond the ones declared: a shell, a foreign host

	// its texts are written as things happen, so that what matters comes last: of one that is too
	// long the end is kept, too
	Log bool

	MimeType string // of Default.Document, where it is known at load

	unknown bool // the block has mistakes, which were reported: what it does is not known
}

// DefaultResult is the answer of a tool without result, text or content. The zero Default has none,
// and the tool must say what it answers.
type DefaultResult struct {
	Member  string   // this member of output is the structured result
	Members []string // these members of output, as an object, are the structured result
	Text    string   // this member of output is sent as text alone

	// this member of output is what a resource holds; without it that is Text, Member or Members,
	// the first that is set
	Document string
}

// isSet reports whether a call of a tool has an answer by default.
func (d DefaultResult) isSet() bool { return d.Member != "" || d.Text != "" || len(d.Members) > 0 }

// Diagnose turns an error of Describe, Check or of binding the backend into diagnostics: at the
// argument that it blames, else at the block.
func (b *Backend) Diagnose(err error) diag.Diagnostics {
	return diag.ToDiagnostics(err, "Backend refused", b.Range, b.ranges)
}

func (l *loader) findBackendKind(name string) (BackendKind, bool) {
	for _, k := range l.kinds.Backends {
		if k.Name == name {
			return k, true
		}
	}
	return BackendKind{}, false
}

func (l *loader) isBackend(name string) bool {
	_, ok := l.findBackendKind(name)
	return ok || name == "tool"
}

func (l *loader) backendNames() []string {
	var names []string
	for _, k := range l.kinds.Backends {
		names = append(names, k.Name)
	}
	sort.Strings(names)
	return names
}

// blockSpecs are specs that let blocks stand in a body; what these hold is checked where they are
// decoded. They are made once a load, because a configuration has thousands of bodies.
type blockSpecs struct {
	backends   decode.Spec
	stepBlocks decode.Spec
	operation  decode.Spec // all that does a tool's work: backends and steps
}

func newBlockSpecs(kinds Kinds) *blockSpecs {
	ignore := func(*decode.Decoder, *hclsyntax.Block) {}
	s := &blockSpecs{stepBlocks: stepBlockSpecs()}
	for _, k := range kinds.Backends {
		s.backends = append(s.backends, decode.Blocks(k.Name, "connection", "", nil, ignore))
	}
	s.backends = append(s.backends, decode.Blocks("tool", "name", "", nil, ignore))
	s.operation = decode.Join(s.backends, decode.Spec{decode.Blocks("step", "name", "", nil, ignore)},
		expectSpec(new([]*Check)), s.stepBlocks)
	return s
}

// decodeBackend decodes one backend block.
func (w *operationDecoder) decodeBackend(b *hclsyntax.Block) *Backend {
	if b.Type == "tool" {
		return w.decodeToolCall(b)
	}
	d := w.dec
	kind, _ := w.loader.findBackendKind(b.Type)
	if a, own := findStepBlock(b.Type); own {
		kind = a.BackendKind
	}
	out := &Backend{Kind: kind.Name, Range: diag.RangeOf(b.DefRange())}
	out.Connection = w.findConnection(kind, b)

	inner := *d
	inner.Diags, inner.Ranges, inner.MissingValue = nil, map[any]diag.Range{}, false
	inner.HasConnection = kind.ConnectionRequired || len(b.Labels) > 0 && len(kind.Connections) > 0
	if out.Connection != nil {
		if ck, ok := w.loader.findConnectionKind(out.Connection.Kind); ok {
			inner.Dialect = ck.Dialect
		}
		if own, ok := out.Connection.Config.(interface{ Words() []string }); ok {
			inner.ArgvPrefix = own.Words()
		}
	}
	config, spec := kind.New()
	inner.Body(b.Body, spec, b.DefRange())
	out.Config, out.ranges = config, inner.Ranges
	out.Effects = Effects{Output: eval.AnyType, unknown: true}
	// what is missing was reported
	lost := inner.Diags.HasErrors() || inner.MissingValue || out.Connection == nil && inner.HasConnection
	if !lost {
		facts, err := config.Describe(out.Connection)
		inner.Diags = append(inner.Diags, diag.ToDiagnostics(err, "Backend refused", out.Range, inner.Ranges)...)
		out.Effects = facts
	}
	if out.Effects.Output == nil {
		out.Effects.Output = eval.AnyType
	}
	if (lost || inner.Diags.HasErrors()) && !out.Effects.Default.isSet() {
		out.Effects.Default.Text = "broken" // so that one mistake is not answered with two
	}
	d.Diags = append(d.Diags, inner.Diags...)
	return out
}

func (l *loader) findConnectionKind(kind string) (ConnectionKind, bool) {
	for _, k := range l.kinds.Connections {
		if k.Name == kind {
			return k, true
		}
	}
	return ConnectionKind{}, false
}

// findConnection finds what the label of a backend names.
func (w *operationDecoder) findConnection(kind BackendKind, b *hclsyntax.Block) *Connection {
	d, names := w.dec, w.loader.connectionNames(kind)
	switch {
	case len(b.Labels) > 1:
		d.Errorf(b.LabelRanges[1], "Unexpected label", "%s block has one label, the name of its connection.",
			diag.ToSentence(diag.WithArticle(kind.Name)))
	case len(b.Labels) == 0 && kind.ConnectionRequired:
		d.Errorf(b.TypeRange, "Missing connection", "%s block names its connection: `%s \"name\" {`.%s",
			diag.ToSentence(diag.WithArticle(kind.Name)), kind.Name, diag.ListAre(names))
		return nil
	case len(b.Labels) == 0:
		return nil
	case len(kind.Connections) == 0 && isStepBlock(kind.Name):
		d.Errorf(b.LabelRanges[0], "Unexpected label", "%s block takes no label: `%s {`.",
			diag.ToSentence(diag.WithArticle(kind.Name)), kind.Name)
		return nil
	case len(kind.Connections) == 0:
		d.Errorf(b.LabelRanges[0], "Unexpected label", "%s block has no connection, so it takes no label: `%s {`.",
			diag.ToSentence(diag.WithArticle(kind.Name)), kind.Name)
		return nil
	}
	var found *Connection
	for _, k := range kind.Connections {
		if c := w.loader.connectionsByKind[k][b.Labels[0]]; c != nil {
			if found != nil {
				d.Errorf(b.LabelRanges[0], "Ambiguous connection",
					"Two connections named %q can be used by %s block: %s and %s. Rename one.", b.Labels[0],
					diag.WithArticle(kind.Name), found.Kind, c.Kind)
			}
			found = c
		}
	}
	if found == nil {
		if w.loader.partial {
			return nil // it may be declared in a file that could not be read
		}
		hint := diag.SuggestOr(b.Labels[0], names, diag.ListAre(names))
		if len(names) == 0 {
			hint = ` Declare one: connection "` + kind.Connections[0] + `" "` + b.Labels[0] + `" { … }.`
		}
		d.Errorf(b.LabelRanges[0], "Unknown connection", "There is no connection %q for %s block.%s", b.Labels[0],
			diag.WithArticle(kind.Name), hint)
		return nil
	}
	w.deps.connections = append(w.deps.connections, found)
	return found
}

func (l *loader) connectionNames(kind BackendKind) (names []string) {
	for _, k := range kind.Connections {
		names = append(names, diag.SortedNames(l.connectionsByKind[k])...)
	}
	sort.Strings(names)
	return slices.Compact(names)
}
