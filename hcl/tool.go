package hcl

import (
	"regexp"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const (
	defaultTimeout = 60 * time.Second
	defaultMaxText = 64 << 10
)

// toolName is what the protocol allows.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// A toolDecl is a tool being decoded: first its inputs, so that other tools can call it, then everything else.
type toolDecl struct {
	*workDecl
	tool    *Tool
	enabled bool

	readOnly, destructive, idempotent, openWorld *bool
	spoken                                       []spoken
	specs                                        toolSpecs
	kept                                         *decoded // of the load before; then nothing is decoded
}

func newToolDecl(l *loader, b block) *toolDecl {
	t := &toolDecl{tool: &Tool{Listed: true}, enabled: true}
	t.workDecl = newWorkDecl(l, b, "tool", &t.tool.Work)
	return t
}

// declare reads the name, the description and the inputs.
func (l *loader) declare(b block) *toolDecl {
	t := newToolDecl(l, b)
	if !toolName.MatchString(t.tool.Name) {
		t.dec.errorf(b.LabelRanges[0], "Invalid tool name", "The protocol allows 1 to 64 letters, digits, _, - and . in the name of a tool: %q cannot be one.", t.tool.Name)
	}
	t.specs = toolSpecs{t.headSpec(), t.bodySpec(), t.answerSpec(), t.errorSpec()}
	t.dec.unknown(b.Body, t.specs.head, t.specs.body, t.specs.answer, t.specs.failure, t.workSpecs())
	t.dec.fields(b.Body, t.specs.head, b.DefRange())
	if a, ok := b.Body.Attributes["timeout"]; ok && t.tool.Timeout == 0 && !t.dec.diags.HasErrors() {
		t.dec.errorf(a.Expr.Range(), "Invalid duration", "A call that may take no time at all never succeeds. Write how long it may take, as in \"30s\".")
	}
	t.inputs.finish()
	return t
}

// toolSpecs are the parts of what a tool block holds, in the order in which they are decoded.
type toolSpecs struct{ head, body, answer, failure Spec }

// toolSpec is everything a tool block may hold except its backend, in the order of the reference.
func toolSpec(t *toolDecl) Spec {
	return Join(t.headSpec(), t.bodySpec(), t.answerSpec(), t.errorSpec())
}

func (t *toolDecl) headSpec() Spec {
	return Join(Spec{
		Attr(&t.tool.Title, "title", "The name as a person reads it."),
		Attr(&t.tool.Description, "description", "What the tool does and when to use it. The model decides by this text.").Require(),
		Attr(&t.readOnly, "read_only", "Whether nothing changes. Derived from the backend when it is left out."),
		Attr(&t.destructive, "destructive", "Whether something may be lost. Derived from the backend when it is left out."),
		Attr(&t.idempotent, "idempotent", "Whether doing it twice is doing it once. Derived from the backend when it is left out."),
		Attr(&t.openWorld, "open_world", "Whether it reaches systems beyond the declared ones. Derived from the backend when it is left out."),
		Attr(&t.tool.Timeout, "timeout", "How long a whole call may take.").Or("60s"),
		Attr(&t.tool.MaxText, "max_text", "How much text a model receives; what is over is cut, and the text says so.").Or("64KiB"),
		Attr(&t.enabled, "enabled", "Whether the tool exists at all.").Or("true"),
		Attr(&t.tool.Listed, "listed", "Whether clients see the tool. A tool that is not listed serves as a step of others.").Or("true"),
		icons(&t.tool.Icons, "Pictures of the tool, for clients that show some."),
		special("schema", "JSON Schema", "The whole input schema verbatim, as in jsondecode(file(\"x.json\")), instead of input blocks.", t.inputs.verbatim),
	}, t.inputs.spec())
}

func (t *toolDecl) bodySpec() Spec {
	return Spec{
		labelled("locals", "", "Names for values of the call. Each is computed when it is first read, once a call.", noSpec, t.localsBlock),
		labelled("check", "message", "What must hold before anything is done. The label is what the caller is told otherwise.", func() Spec { return checkSpec(&Check{}) }, func(d *decoder, b *hclsyntax.Block) {
			check := d.check(b)
			t.tool.Checks = append(t.tool.Checks, check)
			d.facts = d.facts.and(check.That) // it holds for everything after it
		}),
		Attr(&t.tool.Allow, "allow", "Who may call: a program over caller and input."),
	}
}

func (t *toolDecl) answerSpec() Spec {
	return Spec{
		special("returns", "type", "The type of the structured result; the result is checked against it and clients are told.", func(d *decoder, e hclsyntax.Expression) {
			t.tool.Returns = d.typ(e)
			t.tool.Returned = t.tool.Returns.Compile()
		}),
		Attr(&t.tool.Result, "result", "The structured result. Without it the backend's own."),
		Attr(&t.tool.Text, "text", "The text of the result. Without it the structured result as JSON."),
		labelled("content", "kind", "One piece of content, in written order, when one text is not enough. The label is text, image, audio, resource or link.", func() Spec { return contentSpec(&Content{}) }, func(d *decoder, b *hclsyntax.Block) {
			if c := d.content(b); c != nil {
				t.tool.Content = append(t.tool.Content, c)
			}
		}),
	}
}

func (t *toolDecl) errorSpec() Spec {
	return Spec{Attr(&t.tool.Error, "error", "The text of a failed call: error.message, error.status, error.code and error.step can be read.")}
}

// decode reads what is not needed by other tools.
func (t *toolDecl) decode() {
	d, b := t.dec, t.block
	d.scope = t.scope()
	d.fields(b.Body, t.specs.body, b.DefRange())
	d.facts = d.facts.and(t.tool.Allow)
	t.does()
	t.answers()
	t.annotations()
	t.described()
	t.unusedInputs()
	t.tool.Digest = t.digest()
}

// answers reads what the tool says of its result.
func (t *toolDecl) answers() {
	d, b := t.dec, t.block
	before := d.scope
	d.fields(b.Body, t.specs.answer, b.DefRange())
	d.facts = nil // a check that does not hold is one of the failures
	d.scope = before.with("error", failureRoot()).without("output", "The backend failed, so there is no output. Read error.message.")
	d.fields(b.Body, t.specs.failure, b.DefRange())
	d.scope = before
}

// annotations derives what the tool says of its effects from its backends, and refuses what contradicts them.
func (t *toolDecl) annotations() {
	derived := Facts{ReadOnly: true, Idempotent: true}
	for _, s := range t.tool.Steps {
		f := s.Backend.Facts
		derived.ReadOnly = derived.ReadOnly && f.ReadOnly
		derived.Writes = derived.Writes || f.Writes
		derived.Destructive = derived.Destructive || f.Destructive
		derived.Idempotent = derived.Idempotent && (f.Idempotent || f.ReadOnly)
		derived.OpenWorld = derived.OpenWorld || f.OpenWorld
	}
	pick := func(said *bool, otherwise bool) bool {
		if said != nil {
			return *said
		}
		return otherwise
	}
	t.tool.ReadOnly = pick(t.readOnly, derived.ReadOnly)
	t.tool.Destructive = pick(t.destructive, derived.Destructive) && !(t.tool.ReadOnly && t.destructive == nil)
	t.tool.Idempotent = pick(t.idempotent, derived.Idempotent)
	t.tool.OpenWorld = pick(t.openWorld, derived.OpenWorld)
	switch {
	case t.readOnly != nil && *t.readOnly && derived.Writes:
		t.dec.errorf(t.attrRange("read_only"), "Untrue annotation", "read_only = true says that nothing changes, and the backend of this tool changes something.")
	case t.tool.ReadOnly && t.tool.Destructive:
		t.dec.errorf(t.attrRange("destructive"), "Untrue annotation", "A tool cannot be read_only and destructive at once.")
	}
}
