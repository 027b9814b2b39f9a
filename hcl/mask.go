package hcl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/internal/detect"
)

// Mask is one mask block: members of outputs of backends that not every caller may see, and what these callers get
// instead.
type Mask struct {
	*eval.Mask
	Members     []string     // see eval.Mask.SetMembers; empty for one that detects
	Detect      detect.Kinds // what is replaced in texts that are sent
	Connections []string     // of the backends; empty for all, and for those without a connection
	Targets
	appliesToAll bool       // it names no tools, prompts and resources
	Unless       *Condition // who sees the values; nil for nobody
	Key          []byte     // of eval.MaskHash; empty where no secrets are read, and then values are hidden
	Digest       string     // of the block and everything it refers to
	Range        Range
	targetRefs   []targetRef // see checkMasks
	detects      []string
}

const (
	maxMasks       = 64
	maxMaskMembers = 256
	minMaskKey     = 16 // bytes
)

// targetRef is a name in a list of tools, prompts or resources, until these are known.
type targetRef struct {
	list, pattern string
	at            Range
}

// spec returns the spec of a mask block, in the order of the reference.
func (m *Mask) spec(l *loader) decode.Spec {
	m.Mask.With = eval.MaskHide
	with := string(eval.MaskHide)
	what := decode.ExactlyOneOf("what is masked",
		decode.StringSet(&m.Members, "members", "list of names", "What is masked: names of members, which match at "+
			"every depth, or paths that match at the end, as in \"customer.address.*\". In a segment, * matches any "+
			"characters. Columns of a result are members of its rows.", m.keepMember),
		decode.StringSet(&m.detects, "detect", "list of names", "In place of members: what is looked for in the texts "+
			"that are sent, whatever they come from, as a last line: \"email\", \"iban\", \"card\" and \"phone\". "+
			"Each becomes the name of its kind, as in [email]. Values that are encoded, split or written out are not "+
			"found.", m.keepKind),
	)
	return append(what, decode.Spec{
		decode.StringSet(&m.Connections, "connections", "list of names", "The connections whose outputs are masked. "+
			"By default the outputs of all backends are.", l.keepConnection),
		m.targetField("tools"), m.targetField("prompts"), m.targetField("resources"),
		decode.Attr(&m.Unless, "unless", "Who sees the values: an expression over caller and tool, which is evaluated "+
			"once a call. An expression that fails masks. By default nobody does."),
		decode.Choice(&with, "with", "What others see: \"hide\" gives (masked) in place of a text, and null in place "+
			"of anything else. \"partial\" gives a part of a text: of an e-mail address the first letter and the "+
			"domain, of others the end. \"hash\" gives a text that is the same for the same value.", eval.MaskWords...).
			DefaultDoc(`"hide"`).Check(func(*decode.Decoder, Range) { m.With = eval.MaskWith(with) }),
		m.keyField(l),
		decode.StringSet(&m.RevealTo, "reveal_to", "list of names", "The connections to which a tool may send the "+
			"values as unmasked(…). By default none.", l.keepConnection),
	}...)
}

// keepKind checks one name of detect.
func (m *Mask) keepKind(d *decode.Decoder, r Range, word string) string {
	kind := detect.KindOf(word)
	if kind == 0 {
		d.Diags.Errorf(r, "Unknown choice", "detect has %s, not %q.%s", diag.JoinAnd(detect.Words), word,
			diag.SuggestOr(word, detect.Words, ""))
	}
	m.Detect |= kind
	return word
}

func (m *Mask) keyField(l *loader) decode.Field {
	var key decode.SecretText
	return decode.Attr(&key, "key", "The secret key of \"hash\", as in secret.pseudonyms: at least 16 characters. "+
		"Without it, hashes of what can be guessed, such as addresses, could be reversed.").
		AllowSecret().Check(func(d *decode.Decoder, r Range) {
		m.Key = []byte(key.Reveal())
		if len(m.Key) > 0 && len(m.Key) < minMaskKey && !l.readsTestSecret(d) {
			d.Diags.Errorf(r, "Key too short", "The key of a mask has at least %d characters.", minMaskKey)
		}
	})
}

// keepMember checks one pattern of members.
func (m *Mask) keepMember(d *decode.Decoder, r Range, pattern string) string {
	segments := strings.Split(pattern, ".")
	switch {
	case !eval.IsMember(pattern):
		d.Diags.Errorf(r, "Invalid member", eval.InvalidMember, pattern)
		return ""
	case strings.Trim(segments[len(segments)-1], "*") == "" && len(segments) == 1:
		d.Diags.Errorf(r, "Mask of everything", "%q matches every member. Name those that callers may not see.",
			pattern)
		return ""
	case len(m.Members) == maxMaskMembers:
		d.Diags.Errorf(r, "Too many members", "A mask has at most %d members.", maxMaskMembers)
		return ""
	}
	return pattern
}

// keepConnection checks the name of a connection.
func (l *loader) keepConnection(d *decode.Decoder, r Range, name string) string {
	names := map[string]bool{}
	for _, c := range l.globals.connections {
		names[c.Name] = true
		if c.Name == name {
			d.NoteReference(eval.Reference{At: r, Kind: "connection", Name: name, Owner: c.Kind})
		}
	}
	if !names[name] && !l.partial {
		known := diag.SortedNames(names)
		d.Diags.Errorf(r, "Unknown connection", "There is no connection %q.%s", name,
			diag.SuggestOr(name, known, diag.ListAre(known)))
	}
	return name
}

// targetField declares a list of names that are not known yet.
func (m *Mask) targetField(list string) decode.Field {
	dst := map[string]*[]string{"tools": &m.Tools, "prompts": &m.Prompts, "resources": &m.Resources}[list]
	return decode.StringSet(dst, list, "list of names", "The "+list+" to which it applies: names, or patterns with * "+
		"for any characters. By default, if it names no tools, prompts and resources, it applies to all.",
		func(_ *decode.Decoder, r Range, pattern string) string {
			m.targetRefs = append(m.targetRefs, targetRef{list, pattern, r})
			return pattern
		})
}

// decodeMasks decodes the mask blocks, after the connections that they name and before the tools whose outputs they
// mask.
func (l *loader) decodeMasks() {
	l.eachBlock("mask", func(d *decode.Decoder, b sourceBlock) {
		m := &Mask{Mask: &eval.Mask{Name: b.Labels[0]}, Range: headerRange(b.Block)}
		checkExposedName(d, b.Block, "mask", "appears in the audit log")
		d.Scope = l.base.DuringCall().With("caller", callerRoot()).With("tool", toolRoot())
		d.Body(b.Block, m.spec(l))
		switch key := b.Body.Attributes["key"]; {
		case m.Detect != 0 && b.Body.Attributes["members"] == nil:
			for _, name := range []string{"with", "key", "reveal_to"} {
				if a := b.Body.Attributes[name]; a != nil {
					d.Errorf(a.NameRange, "Does not apply here", "A mask with detect puts the name of a kind in place "+
						"of a value. Only members have %s.", name)
				}
			}
		case m.With == eval.MaskHash && key == nil:
			d.Errorf(b.DefRange(), "Hash without key", "with = \"hash\" needs a key: plain hashes of addresses and "+
				"names are reversed by trying all. Write key = secret.name.")
		case m.With != eval.MaskHash && key != nil:
			d.Errorf(key.NameRange, "Does not apply here", "Only with = \"hash\" has a key.")
		}
		m.appliesToAll = len(m.targetRefs) == 0
		m.SetMembers(m.Members)
		m.Digest = l.blockDigest(b, &dependencies{Dependencies: *d.Deps})
		if !l.declare("mask", m.Name, b) {
			return
		}
		if l.globals.masks = append(l.globals.masks, m); len(l.globals.masks) == maxMasks+1 {
			d.Errorf(b.DefRange(), "Too many masks", "A configuration has at most %d masks. Name more members in one.",
				maxMasks)
		}
	})
	slices.SortFunc(l.globals.masks, func(a, b *Mask) int { return strings.Compare(a.Name, b.Name) })
}

// checkMasks reports names in masks that nothing has, after all tools, prompts and resources.
func (l *loader) checkMasks() {
	known := l.collectExposedNames()
	for _, m := range l.config.Masks {
		for _, ref := range m.targetRefs {
			known.check(&l.diags, ref.list, ref.pattern, ref.at)
		}
	}
}

// masksByCaller returns the name of a mask of the outputs that the block reads which not every caller sees alike; empty
// for none.
func (u *dependencies) masksByCaller() string {
	for _, m := range u.masks {
		if m.Unless != nil {
			return m.Name
		}
	}
	return ""
}

// AppliesTo reports whether the mask applies to the output of a backend of a tool, prompt or resource. List is "tools",
// "prompts" or "resources", or "" for what belongs to none of them alone. Connection is nil for a backend without one.
func (m *Mask) AppliesTo(list, name string, connection *Connection) bool {
	if !m.appliesToAll && list != "" && !m.names(list, name) {
		return false
	}
	return len(m.Connections) == 0 || connection != nil && slices.Contains(m.Connections, connection.Name)
}

// AppliedMask is a mask that applies to the output of a backend.
type AppliedMask struct {
	*Mask
	Columns *eval.Columns // see eval.Applied
}

// Matches reports whether it masks the member at a path; see eval.Applied.
func (m AppliedMask) Matches(path []string) bool {
	return eval.Applied{Mask: m.Mask.Mask, Columns: m.Columns}.Matches(path)
}

// ColumnDeriver is the configuration of a backend whose output has rows of statements.
type ColumnDeriver interface {
	// MaskedColumns returns the columns of the rows that hold values of columns that a mask names, under other names or
	// computed from them; see eval.Columns. The error says why they cannot be known.
	MaskedColumns(mask *eval.Mask) ([]string, error)
}

// MaskedStatements is the configuration of a backend whose statements may tell of masked columns.
type MaskedStatements interface {
	// ComparedWithMasked returns the places of the values that statements compare with columns that the mask masks, and
	// that the caller may choose.
	ComparedWithMasked(mask *eval.Mask) []Range
	// StatementNames returns the names in the statements, among them all names of columns of the results if all is set.
	StatementNames() (names []string, all bool)
}

// masksFor returns the masks that apply to a backend of the operation, for any caller.
func (w *operationDecoder) masksFor(connection *Connection) (masks []*Mask) {
	list := masksOf[w.noun]
	for _, m := range w.loader.globals.masks {
		if m.Detect == 0 && m.AppliesTo(list, w.op.Name, connection) {
			masks = append(masks, m)
		}
	}
	return masks
}

// detectors returns the masks that detect in what the operation sends.
func (w *operationDecoder) detectors() (found []*Mask) {
	list := masksOf[w.noun]
	for _, m := range w.loader.globals.masks {
		reads := func(s *Step) bool { return m.AppliesTo(list, w.op.Name, s.Backend.Connection) }
		if m.Detect != 0 && (slices.ContainsFunc(w.op.Steps, reads) || m.AppliesTo(list, w.op.Name, nil)) {
			found = append(found, m)
		}
	}
	return found
}

// masksOf are the lists of a mask that name operations, by their block.
var masksOf = map[string]string{"tool": "tools", "prompt": "prompts", "resource": "resources"}

// mask completes what is known of the output of a backend by the masks that apply to it.
func (w *operationDecoder) mask(b *Backend) {
	var known eval.Masks
	for _, m := range w.masksFor(b.Connection) {
		applied := AppliedMask{Mask: m}
		if sql, ok := b.Config.(ColumnDeriver); ok && !b.Effects.unknown {
			columns, err := sql.MaskedColumns(m.Mask)
			if err != nil {
				w.dec.Diags = append(w.dec.Diags, diag.ToDiagnostics(err, "Masked column", b.Range, b.ranges)...)
			}
			applied.Columns = (*eval.Columns)(&columns)
		}
		b.Masks, known = append(b.Masks, applied), append(known, eval.Applied{Mask: m.Mask, Columns: applied.Columns})
		w.deps.masks = append(w.deps.masks, m)
	}
	if b.Masks == nil {
		return
	}
	b.Effects.Facts.Covers = eval.CoverOutput(known)
	b.Effects.Output = b.MaskedType(b.Effects.Output)
}

// MaskedType returns the type of what callers see of a part of the output, which is at a path of names in it.
func (b *Backend) MaskedType(part *schema.Type, at ...string) *schema.Type {
	if len(b.Masks) == 0 {
		return part
	}
	return part.ReplaceMembers(func(path []string, t *schema.Type) *schema.Type {
		if with := b.masked(slices.Concat(at, path)); with != "" {
			return t.Masked(with == eval.MaskHash)
		}
		return nil
	})
}

// connectionLabel returns the connection that a backend block names; empty for none.
func connectionLabel(b *hclsyntax.Block) string {
	if len(b.Labels) == 0 {
		return ""
	}
	return b.Labels[0]
}

// reveal keeps the output of a step, or with an empty name what each is read from, for a later step that sends what
// masks hide of it. It returns why that cannot be, as a sentence, or "". What is stored while a call waits for a person
// is masked.
func (w *operationDecoder) reveal(name string) string {
	from := 0
	w.reveals = true
	if w.revealsEach = w.revealsEach || name == ""; name != "" {
		from = slices.IndexFunc(w.op.Steps, func(s *Step) bool { return s.Name == name })
	}
	for _, s := range w.op.Steps[max(from, 0):] {
		if name == "" || s.Name == name {
			s.KeepsRaw = true
		}
		_, asks := s.Backend.Config.(*AskGroup)
		if asks || s.Backend.Effects.Upstream != "" {
			return fmt.Sprintf("In the step %q the call may wait for a person, and what is stored while it waits is "+
				"masked. Read the value in a step after it.", s.Name)
		}
	}
	return ""
}

// masked returns what stands in place of the member of the output at a path for callers who may not see it; empty for
// what no mask masks. The strictest mask decides.
func (b *Backend) masked(path []string) (with eval.MaskWith) {
	for _, m := range b.Masks {
		if m.Matches(path) && m.With.IsStricter(with) {
			with = m.With
		}
	}
	return with
}
