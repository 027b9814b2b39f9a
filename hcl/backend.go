package hcl

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// Backend is one decoded backend block. The step blocks of the language itself are Backends too:
// their Config is *ToolCall, *Progress, *Log, *Wait, *Fail, *ProtocolFault or *AskGroup.
type Backend struct {
	Kind       string      // the name of the block
	Config     any         // the adapter's own type, or one of these
	Connection *Connection // named by the label; nil for none
	Effects    Effects
	Whole      []string      // members of output that a limit must not cut, because all there is is needed
	Delivered  []string      // members of output that a limit may have cut and that the answer holds
	Masks      []AppliedMask // of its output, by name
	Range      Range
	ranges     map[any]Range
}

// Effects are the properties of a backend that hold for every call.
type Effects struct {
	Output  *schema.Type  // of the root `output`: an object whose members are documented for the backend
	Facts   eval.Facts    // of Output, besides its type
	Default DefaultResult // the result of a tool without result, text and content

	ReadOnly    bool // nothing changes
	Writes      bool // something certainly changes, so read_only = true is a contradiction
	Destructive bool // something may be lost: a DELETE, an overwritten file
	Idempotent  bool // repeating a call has no additional effect
	OpenWorld   bool // it reaches systems other than the declared ones

	// TextOf names the members of Output that hold the text which another member was read from, by their names: where a
	// part of the other is masked, the text is masked as a whole. A text that is JSON need not be here.
	TextOf map[string]string

	// Upstream is the connection to another MCP server that the backend calls; empty for another backend.
	Upstream string
	// Pinned is the reviewed definition of the tool of that server; nil for another backend.
	Pinned *PinnedTool
	// Contradiction returns what is wrong with a tool that says that it changes nothing, or that nothing is lost, as a
	// sentence, or "". ReadOnly and destructive are what the tool says; nil for nothing. It is nil for a backend of
	// which nothing more is known.
	Contradiction func(readOnly, destructive *bool) string

	// output is a log, whose end matters most: when it is truncated, the end is kept too
	Log bool

	MimeType string // of Default.Document; empty if unknown at load

	// Unlimited says that only a limit which the author did not write bounds the output, as an error of
	// Describe would; nil for what is bounded, or unknown.
	Unlimited error

	unknown bool // the block has mistakes, which were reported
}

// PinnedTool is the reviewed definition of a tool of another MCP server.
type PinnedTool struct {
	Name   string
	Digest string // of the whole definition
	// What the server says of the effects of the tool; nil for nothing.
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
}

// DefaultResult is the result of a tool without result, text and content. With the zero
// DefaultResult the tool must declare one of them.
type DefaultResult struct {
	Member  string   // this member of output is the structured result
	Members []string // these members of output, as an object, are the structured result
	Text    string   // this member of output is sent as text alone
	// Content is a member of output whose value is an *adapters.Content, of which the blocks are sent. Text is then
	// what a tool reads that called this one, and Member is the structured result if it is not null.
	Content string

	// this member of output is the content of a resource; by default the first of Text, Member and
	// Members that is set
	Document string
}

// isSet reports whether there is a default result.
func (d DefaultResult) isSet() bool { return d.Member != "" || d.Text != "" || len(d.Members) > 0 }

// DefaultType returns the type of the default result of a backend; nil for text, and for what is unknown.
func (e *Effects) DefaultType() *schema.Type {
	if e.Output == nil {
		return nil
	}
	if e.Default.Member != "" {
		m, ok := e.Output.Lookup(e.Default.Member)
		if !ok || m.Type.Kind == schema.Any || m.Type.Kind == schema.String || m.Type.Kind == schema.Bytes {
			return nil
		}
		return m.Type
	}
	var members []*schema.Member
	for _, name := range e.Default.Members {
		if m, ok := e.Output.Lookup(name); ok {
			members = append(members, m)
		}
	}
	if len(members) == 0 {
		return nil
	}
	return schema.ObjectOf(members...)
}

// Diagnose converts an error of Describe, Check or of binding the backend into diagnostics, placed
// at the blamed argument or at the block.
func (b *Backend) Diagnose(err error) Diagnostics {
	return diag.ToDiagnostics(err, "Backend refused", b.Range, b.ranges)
}

// RangeOf returns the range of the argument that was decoded into field, or else of the connection, or of the block.
func (b *Backend) RangeOf(field any) Range {
	if r, ok := b.ranges[field]; ok {
		return r
	}
	if b.Connection != nil {
		return b.Connection.Range
	}
	return b.Range
}

func (l *loader) isBackend(name string) bool {
	_, ok := l.backendKinds[name]
	return ok || name == "tool"
}

// blockSpecs are the kinds of adapters by name, and specs that accept their blocks in a body; the
// blocks' own contents are checked by their decoders. They are built once per load, because a
// configuration has thousands of bodies.
type blockSpecs struct {
	backendKinds    map[string]BackendKind
	connectionKinds map[string]ConnectionKind
	backends        decode.Spec
	stepBlocks      decode.Spec
	operation       decode.Spec // backends and steps
}

func newBlockSpecs(kinds Kinds) *blockSpecs {
	ignore := func(*decode.Decoder, *hclsyntax.Block) {}
	s := &blockSpecs{stepBlocks: stepBlockSpecs(), backendKinds: map[string]BackendKind{},
		connectionKinds: map[string]ConnectionKind{}}
	for _, k := range kinds.Connections {
		s.connectionKinds[k.Name] = k
	}
	for _, k := range kinds.Backends {
		s.backendKinds[k.Name] = k
		s.backends = append(s.backends, decode.Blocks(k.Name, "connection", "", nil, ignore).Hint(fmt.Sprintf(
			` The block is named %s, and its label is the connection: %[1]s "name" { … }.`, k.Name), k.Aliases...))
	}
	s.backends = append(s.backends, decode.Blocks("tool", "name", "", nil, ignore))
	s.operation = decode.Join(s.backends, decode.Spec{decode.Blocks("step", "name", "", nil, ignore)},
		decode.Spec{expectField(new([]*Check))}, s.stepBlocks)
	return s
}

// decodeBackend decodes one backend block.
func (w *operationDecoder) decodeBackend(b *hclsyntax.Block) *Backend {
	if b.Type == "tool" {
		return w.decodeToolCall(b)
	}
	d := w.dec
	kind := w.loader.backendKinds[b.Type]
	if a, own := findStepBlock(b.Type); own {
		kind = BackendKind{Name: a.Name, New: a.New}
	}
	out := &Backend{Kind: kind.Name, Range: headerRange(b)}
	out.Connection = w.findConnection(kind, b)

	inner := *d
	inner.Diags, inner.Ranges, inner.MissingValue = nil, map[any]Range{}, false
	inner.HasConnection = kind.ConnectionRequired || len(b.Labels) > 0 && len(kind.Connections) > 0
	if out.Connection != nil {
		inner.Dialect = w.loader.connectionKinds[out.Connection.Kind].Dialect
		if own, ok := out.Connection.Config.(interface{ Words() []string }); ok {
			inner.Command.Prefix = own.Words()
		}
		if own, ok := out.Connection.Config.(interface{ TrustedPrograms() []string }); ok {
			inner.Command.Inputs.DataPrograms = own.TrustedPrograms()
		}
	}
	config, spec := kind.New()
	var masks eval.Masks
	for _, m := range w.masksFor(out.Connection) {
		masks = append(masks, eval.Applied{Mask: m.Mask})
	}
	inner.Covers = eval.CoverOutput(masks)
	if !kind.Files && !isStepBlock(kind.Name) {
		inner.Scope = d.Scope.To(&eval.Sink{Connection: connectionLabel(b), Reveal: w.reveal})
	}
	inner.Body(b, spec)
	out.Config, out.ranges = config, inner.Ranges
	out.Effects = Effects{Output: eval.AnyType, unknown: true}
	// the missing part was reported
	lost := inner.Diags.HasErrors() || inner.MissingValue || out.Connection == nil && inner.HasConnection
	if !lost {
		facts, err := config.Describe(out.Connection)
		inner.Diags = append(inner.Diags, diag.ToDiagnostics(err, "Backend refused", out.Range, inner.Ranges)...)
		out.Effects = facts
		if facts.Pinned != nil {
			w.deps.pins = append(w.deps.pins, facts.Pinned)
		}
		if runner, ok := config.(CodeRunner); ok && !runner.Code(out.Connection).isEmpty() {
			w.deps.ReadsFiles = true // see findCode
		}
	}
	if out.Effects.Output == nil {
		out.Effects.Output = eval.AnyType
	}
	if (lost || inner.Diags.HasErrors()) && !out.Effects.Default.isSet() {
		out.Effects.Default.Text = "broken" // so that one mistake is not answered with two
	}
	d.Diags = append(d.Diags, inner.Diags...)
	if !isStepBlock(out.Kind) {
		w.mask(out)
	}
	return out
}

// findConnection returns the connection that the label of a backend names.
func (w *operationDecoder) findConnection(kind BackendKind, b *hclsyntax.Block) *Connection {
	d, article := w.dec, diag.WithArticle(kind.Name)
	switch {
	case len(b.Labels) > 1:
		d.Errorf(b.LabelRanges[1], "Unexpected label", "%s block has one label, the name of its connection.",
			diag.ToSentence(article))
	case len(b.Labels) == 0 && kind.ConnectionRequired:
		d.Errorf(b.TypeRange, "Missing connection", "%s block names its connection: `%s \"name\" {`.%s",
			diag.ToSentence(article), kind.Name, diag.ListAre(w.loader.connectionNames(kind)))
		return nil
	case len(b.Labels) == 0:
		return nil
	case len(kind.Connections) == 0:
		why := " has no connection, so it"
		if isStepBlock(kind.Name) {
			why = ""
		}
		d.Errorf(b.LabelRanges[0], "Unexpected label", "%s block%s takes no label: `%s {`.",
			diag.ToSentence(article), why, kind.Name)
		return nil
	}
	name := b.Labels[0]
	var found *Connection
	for _, c := range w.loader.connectionsNamed(kind, name) {
		if found != nil {
			d.Errorf(b.LabelRanges[0], "Ambiguous connection", "Two connections named %q can be used by %s "+
				"block: %s and %s. Rename one.", name, article, found.Kind, c.Kind)
		}
		found = c
	}
	switch {
	case found != nil:
		w.deps.connections = append(w.deps.connections, found)
		d.NoteReference(eval.Reference{At: labelRange(b), Kind: "connection", Name: name, Owner: found.Kind})
	case !w.loader.partial: // otherwise it may be declared in an unreadable file
		names := w.loader.connectionNames(kind)
		hint := diag.SuggestOr(name, names, diag.ListAre(names))
		if len(names) == 0 {
			hint = hint.Says(` Declare one: connection "` + kind.Connections[0] + `" "` + name + `" { … }.`)
		}
		d.Errorf(b.LabelRanges[0], "Unknown connection", "There is no connection %q for %s block.%s", name, article,
			hint)
	}
	return found
}

// connectionsNamed returns the connections of a name that a backend can use, in the order of all connections.
func (l *loader) connectionsNamed(kind BackendKind, name string) (named []*Connection) {
	for _, k := range slices.Sorted(slices.Values(kind.Connections)) {
		at, _ := slices.BinarySearchFunc(l.connections, name, func(c *Connection, name string) int {
			return cmp.Or(cmp.Compare(c.Kind, k), cmp.Compare(c.Name, name))
		})
		for ; at < len(l.connections) && l.connections[at].Kind == k && l.connections[at].Name == name; at++ {
			named = append(named, l.connections[at])
		}
	}
	return named
}

// connectionNames returns the names of the connections that a backend can use.
func (l *loader) connectionNames(kind BackendKind) []string {
	names := map[string]bool{}
	for _, c := range l.connections {
		if slices.Contains(kind.Connections, c.Kind) {
			names[c.Name] = true
		}
	}
	return diag.SortedNames(names)
}

// Effect is one thing that the calls of a backend do, or that a connection lets them do, as the author
// wrote it.
type Effect struct {
	Verb string // in upper case, such as GET, READ, WRITE or RUN
	What string // what is known without the source, such as "INSERT invoices"; may be empty
	// Source holds the fields whose arguments say where, such as the address of a request; they are
	// shown as they are written, so that the value of a variable is not part of it
	Source []any
	// Layout is set if the source is a text in which white space and comments have no meaning, such as a statement. It
	// returns the text without them. The text has a zero byte for each value, which it keeps.
	Layout func(text string) string
	// Values is the field of values that are sent, such as query parameters. Those that a call does not decide alone
	// are shown, each on its own line; nil for none
	Values any
}

// EffectLister is the configuration of a backend or a connection that lists its effects. Conn is the connection
// of a backend; nil for none.
type EffectLister interface {
	Effects(conn *Connection) []Effect
}

// TableUse is a table that a statement uses.
type TableUse struct {
	// Table is its name after its qualifiers, in lower case where the database ignores case; empty for any table.
	Table []string
	// Field is the field whose argument is the statement.
	Field any
	// Chosen are the values that choose the rows, as a condition does, and in an INSERT those of the rows: the places
	// of their expressions.
	Chosen []Range
	// Unchosen reports whether every rendering of the statement uses the table in a part of its own, such as a branch
	// of UNION, whose rows no value of Chosen chooses.
	Unchosen bool
}

// TableLister is the configuration of a backend whose statements use tables.
type TableLister interface {
	// Tables returns the tables that the statements use. It returns none for a connection that the database itself
	// confines to the rows of the caller.
	Tables(conn *Connection) []TableUse
}

// SourceOf returns where the argument that was decoded into field is written, in the block or in its
// connection.
func (b *Backend) SourceOf(field any) (Range, bool) {
	if r, ok := b.ranges[field]; ok {
		return r, true
	}
	if b.Connection == nil {
		return Range{}, false
	}
	return b.Connection.SourceOf(field)
}

// SourceOf returns where the argument that was decoded into field is written.
func (c *Connection) SourceOf(field any) (Range, bool) {
	r, ok := c.ranges[field]
	return r, ok
}
