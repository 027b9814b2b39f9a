package hcl

import (
	"slices"
	"sort"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
)

// Backend is one decoded backend block. The blocks of a step that are none of an adapter are Backends all the same: Config is *ToolCall, *Progress, *Log,
// *Wait, *Fail, *ProtocolFault or, for the ask blocks of the step, *Round.
type Backend struct {
	Kind       string      // the name of the block
	Config     any         // the adapter's own type, or one of these
	Connection *Connection // the one its label names, or nil
	Facts      Facts
	Range      Range
	places     map[any]Range
}

// Facts are what is known at load of every call of a backend.
type Facts struct {
	Output  *schema.Type // of the root `output`: an object whose members are documented for the backend
	Default Default      // what a call answers when the tool does not say

	ReadOnly    bool // nothing changes
	Writes      bool // something certainly changes, so that read_only = true would be untrue
	Destructive bool // something may be lost: a DELETE, an overwritten file
	Idempotent  bool // doing it twice is doing it once
	OpenWorld   bool // it reaches systems beyond the ones declared: a shell, a foreign host

	Log bool // its texts are written as things happen, so that what matters comes last: of one that is too long the end is kept, too

	MimeType string // of Default.Document, where it is known at load

	unknown bool // the block has mistakes, which were reported: what it does is not known
}

// Default is the answer of a tool without result, text or content. The zero Default has none, and the tool must say what it answers.
type Default struct {
	Member  string   // this member of output is the structured result
	Members []string // these members of output, as an object, are the structured result
	Text    string   // this member of output is sent as text alone

	Document string // this member of output is what a resource holds; without it that is Text, Member or Members, the first that is set
}

// answers reports whether a call of a tool has an answer by default.
func (d Default) answers() bool { return d.Member != "" || d.Text != "" || len(d.Members) > 0 }

// Diagnose turns an error of Describe, Check or of binding the backend into diagnostics: at the argument that it blames, else at the block.
func (b *Backend) Diagnose(err error) Diagnostics {
	return blames(err, "Backend refused", b.Range, b.places)
}

func (l *loader) kind(name string) (BackendKind, bool) {
	for _, k := range l.kinds.Backends {
		if k.Name == name {
			return k, true
		}
	}
	return BackendKind{}, false
}

func (l *loader) isBackend(name string) bool {
	_, ok := l.kind(name)
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

// standing are specs that let blocks stand in a body; what these hold is checked where they are decoded. They are made once a load, because a configuration has
// thousands of bodies.
type standing struct {
	backends Spec
	acts     Spec
	work     Spec // all that does a tool's work: backends and steps
}

func stand(kinds Kinds) *standing {
	ignore := func(*decoder, *hclsyntax.Block) {}
	s := &standing{acts: actSpecs()}
	for _, k := range kinds.Backends {
		s.backends = append(s.backends, labelled(k.Name, "connection", "", noSpec, ignore))
	}
	s.backends = append(s.backends, labelled("tool", "name", "", noSpec, ignore))
	s.work = Join(s.backends, Spec{labelled("step", "name", "", noSpec, ignore)}, expectSpec(new([]*Check)), s.acts)
	return s
}

// backend decodes one backend block.
func (w *workDecl) backend(b *hclsyntax.Block) *Backend {
	if b.Type == "tool" {
		return w.toolCall(b)
	}
	d := w.dec
	kind, _ := d.shared.kind(b.Type)
	if a, own := actNamed(b.Type); own {
		kind = a.BackendKind
	}
	out := &Backend{Kind: kind.Name, Range: at(b.DefRange())}
	out.Connection = d.connection(kind, b)

	inner := *d
	inner.diags, inner.places, inner.blind = nil, map[any]Range{}, false
	inner.linked = kind.Needed || len(b.Labels) > 0 && len(kind.Connections) > 0
	if out.Connection != nil {
		if ck, ok := d.shared.connectionNamed(out.Connection.Kind); ok {
			inner.dialect = ck.Dialect
		}
		if own, ok := out.Connection.Config.(interface{ Words() []string }); ok {
			inner.words = own.Words()
		}
	}
	config, spec := kind.New()
	inner.body(b.Body, spec, b.DefRange())
	out.Config, out.places = config, inner.places
	out.Facts = Facts{Output: anyType, unknown: true}
	lost := inner.diags.HasErrors() || inner.blind || out.Connection == nil && inner.linked // what is missing was reported
	if !lost {
		facts, err := config.Describe(out.Connection)
		inner.diags = append(inner.diags, blames(err, "Backend refused", out.Range, inner.places)...)
		out.Facts = facts
	}
	if out.Facts.Output == nil {
		out.Facts.Output = anyType
	}
	if (lost || inner.diags.HasErrors()) && !out.Facts.Default.answers() {
		out.Facts.Default.Text = "broken" // so that one mistake is not answered with two
	}
	d.diags = append(d.diags, inner.diags...)
	return out
}

func (l *loader) connectionNamed(kind string) (ConnectionKind, bool) {
	for _, k := range l.kinds.Connections {
		if k.Name == kind {
			return k, true
		}
	}
	return ConnectionKind{}, false
}

// connection finds what the label of a backend names.
func (d *decoder) connection(kind BackendKind, b *hclsyntax.Block) *Connection {
	names := d.connectionNames(kind)
	switch {
	case len(b.Labels) > 1:
		d.errorf(b.LabelRanges[1], "Unexpected label", "%s block has one label, the name of its connection.", sentence(article(kind.Name)))
	case len(b.Labels) == 0 && kind.Needed:
		d.errorf(b.TypeRange, "Missing connection", "%s block names its connection: `%s \"name\" {`.%s", sentence(article(kind.Name)), kind.Name, thereAre(names))
		return nil
	case len(b.Labels) == 0:
		return nil
	case len(kind.Connections) == 0 && isAct(kind.Name):
		d.errorf(b.LabelRanges[0], "Unexpected label", "%s block has no label: `%s {`.", sentence(article(kind.Name)), kind.Name)
		return nil
	case len(kind.Connections) == 0:
		d.errorf(b.LabelRanges[0], "Unexpected label", "%s block has no connection, so it has no label: `%s {`.", sentence(article(kind.Name)), kind.Name)
		return nil
	}
	var found *Connection
	for _, k := range kind.Connections {
		if c := d.shared.linked[k][b.Labels[0]]; c != nil {
			if found != nil {
				d.errorf(b.LabelRanges[0], "Ambiguous connection", "There are two connections %q that %s block can use: %s and %s. Rename one.", b.Labels[0], article(kind.Name), found.Kind, c.Kind)
			}
			found = c
		}
	}
	if found == nil {
		if d.shared.partial {
			return nil // it may be declared in a file that could not be read
		}
		hint := suggestOr(b.Labels[0], names, thereAre(names))
		if len(names) == 0 {
			hint = ` Declare one: connection "` + kind.Connections[0] + `" "` + b.Labels[0] + `" { … }.`
		}
		d.errorf(b.LabelRanges[0], "Unknown connection", "There is no connection %q for %s block.%s", b.Labels[0], article(kind.Name), hint)
		return nil
	}
	d.uses.connections = append(d.uses.connections, found)
	return found
}

func (d *decoder) connectionNames(kind BackendKind) (names []string) {
	for _, k := range kind.Connections {
		names = append(names, sortedNames(d.shared.linked[k])...)
	}
	sort.Strings(names)
	return slices.Compact(names)
}
