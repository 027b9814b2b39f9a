package hcl

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
)

// Tool is one tool block.
type Tool struct {
	Work
	Title       string
	Description string
	Icons       []*Icon
	Listed      bool
	Task        *Task        // nil when calls are never tasks
	Limit       *Limit       // nil for none
	Idempotency *Idempotency // nil when calls bring no key
	Memo        *Memo        // nil when no answer is kept
	Approvals   []*Approval  // that calls may need, in their order

	ReadOnly    bool
	Destructive bool
	Idempotent  bool
	OpenWorld   bool

	Result   *Program // nil for the default of the backend
	Content  []*Content
	Text     *Message
	Error    *Message
	Returns  *schema.Type // of the structured result, declared; nil when it is not
	Returned *schema.Validator
}

// A toolDecl is a tool being decoded: first its inputs, so that other tools can call it, then everything else.
type toolDecl struct {
	*workDecl
	tool *Tool

	readOnly, destructive, idempotent, openWorld *bool
	specs                                        toolSpecs
}

func newToolDecl(l *loader, b block) *toolDecl {
	t := &toolDecl{tool: &Tool{Listed: true}}
	t.workDecl = newWorkDecl(l, b, "tool", &t.tool.Work)
	return t
}

// declare reads the name, the description and the inputs.
func (l *loader) declare(b block) *toolDecl {
	t := newToolDecl(l, b)
	t.named()
	t.specs = toolSpecs{t.headSpec(), t.bodySpec(), t.answerSpec(), errorSpec(&t.tool.Error, "a failed call")}
	t.dec.unknown(b.Body, t.specs.head, t.specs.body, t.specs.answer, t.specs.failure, Spec{t.approvalField(), t.taskField(), t.memoField()}, t.dec.shared.standing.work)
	t.dec.fields(b.Body, t.specs.head, b.DefRange())
	t.timed()
	t.keyed()
	t.inputs.finish()
	return t
}

// toolSpecs are the parts of what a tool block holds, in the order in which they are decoded.
type toolSpecs struct{ head, body, answer, failure Spec }

// toolSpec is everything a tool block may hold except its backend, in the order of the reference.
func toolSpec(t *toolDecl) Spec {
	return Join(t.headSpec(), t.bodySpec(), Spec{t.approvalField(), t.taskField(), t.memoField()}, t.answerSpec(), errorSpec(&t.tool.Error, "a failed call"))
}

func (t *toolDecl) headSpec() Spec {
	return Join(Spec{
		Attr(&t.tool.Title, "title", "The name as a person reads it."),
		Attr(&t.tool.Description, "description", "What the tool does and when to use it. The model decides by this text.").Require(),
		Attr(&t.readOnly, "read_only", "Whether nothing changes. Derived from the backend when it is left out."),
		Attr(&t.destructive, "destructive", "Whether something may be lost. Derived from the backend when it is left out."),
		Attr(&t.idempotent, "idempotent", "Whether doing it twice is doing it once. Derived from the backend when it is left out."),
		Attr(&t.openWorld, "open_world", "Whether it reaches systems beyond the declared ones. Derived from the backend when it is left out."),
		t.timeoutField("How long a whole call may take."),
		Attr(&t.tool.MaxText, "max_text", "How much text a model receives; what is over is cut, and the text says so.").Or("64KiB"),
		t.requiresField(),
		t.enabledField(),
		limitField(&t.tool.Limit, "How often, and how many at once, the tool may be called."),
		t.idempotencyField(),
		Attr(&t.tool.Listed, "listed", "Whether clients see the tool. A tool that is not listed serves as a step of others.").Or("true"),
		icons(&t.tool.Icons, "Pictures of the tool, for clients that show some."),
		special("schema", "JSON Schema", "The whole input schema verbatim, as in jsondecode(file(\"x.json\")), instead of input blocks.", t.inputs.verbatim),
	}, t.inputs.spec())
}

func (t *toolDecl) answerSpec() Spec {
	return Spec{
		special("returns", "type", "The type of the structured result; the result is checked against it and clients are told.", func(d *decoder, e hclsyntax.Expression) {
			t.tool.Returns = d.typ(e)
			d.refuseFile(t.tool.Returns, e, "a result")
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

// decode reads what is not needed by other tools.
func (t *toolDecl) decode() {
	d, b := t.dec, t.block
	d.scope = t.scope()
	before := d.scope
	d.fields(b.Body, t.specs.body, b.DefRange())
	d.facts = d.facts.and(t.tool.Allow)
	t.approvals()
	d.uses.caller = false // who may call, and what must be approved, was asked before anything is answered
	t.does()
	d.fields(b.Body, Spec{t.taskField()}, b.DefRange())
	t.answered()
	t.answers()
	d.scope = before
	d.fields(b.Body, Spec{t.memoField()}, b.DefRange())
	t.annotations()
	t.once()
	t.memorable()
	t.described(t.tool.Description)
	t.completions()
	t.unusedInputs()
	t.tool.Digest = t.digest()
}

// answers reads what the tool says of its result.
func (t *toolDecl) answers() {
	d, b := t.dec, t.block
	d.fields(b.Body, t.specs.answer, b.DefRange())
	t.failing(t.specs.failure)
}

// answered reports a tool that does nothing, and one that says nothing about its result although its backend has no answer of its own.
func (t *toolDecl) answered() {
	if t.says("result", "text", "content") {
		return
	}
	switch {
	case len(t.tool.Steps) == 0 && !t.dec.diags.HasErrors():
		t.dec.errorf(t.block.DefRange(), "Tool does nothing", "A tool has a backend (%s), steps, or at least a result or a text.", strings.Join(t.dec.shared.backendNames(), ", "))
	case len(t.tool.Steps) == 1 && !t.tool.Named() && !t.tool.Steps[0].Backend.Facts.Default.answers():
		t.dec.errorf(t.block.DefRange(), "No result", "The answer of this backend has no form of its own. Write result, text or content.")
	}
}
