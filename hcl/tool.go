package hcl

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/schema"
)

// Tool is one tool block.
type Tool struct {
	Operation
	Title       string
	Description string
	Icons       []*Icon
	Listed      bool
	Task        *Task        // nil when calls are never tasks
	Limit       *Limit       // nil for none
	Idempotency *Idempotency // nil when calls bring no key
	Cache       *ResultCache // nil when no answer is kept
	Approvals   []*Approval  // that calls may need, in their order

	ReadOnly    bool
	Destructive bool
	Idempotent  bool
	OpenWorld   bool

	Result           *hclexpr.Program // nil for the default of the backend
	Content          []*Content
	Text             *hclexpr.TextTemplate
	Error            *hclexpr.TextTemplate
	Returns          *schema.Type // of the structured result, declared; nil when it is not
	ReturnsValidator *schema.Validator
}

// toolDecoder is a tool being decoded: first its inputs, so that other tools can call it, then everything else.
type toolDecoder struct {
	*operationDecoder
	tool *Tool

	readOnly, destructive, idempotent, openWorld *bool
	specs                                        toolSpecs
}

func newToolDecoder(l *loader, b sourceBlock) *toolDecoder {
	t := &toolDecoder{tool: &Tool{Listed: true}}
	t.operationDecoder = newOperationDecoder(l, b, "tool", &t.tool.Operation)
	return t
}

// declareTool reads the name, the description and the inputs.
func (l *loader) declareTool(b sourceBlock) *toolDecoder {
	t := newToolDecoder(l, b)
	t.checkName()
	t.specs = toolSpecs{t.headSpec(), t.bodySpec(), t.answerSpec(), errorSpec(&t.tool.Error, "a failed call")}
	t.dec.CheckNames(b.Body, t.specs.head, t.specs.body, t.specs.answer, t.specs.failure, decode.Spec{t.approvalField(), t.taskField(), t.cacheField()}, t.loader.blockSpecs.operation)
	t.dec.Fields(b.Body, t.specs.head, b.DefRange())
	t.addKeyInput()
	t.inputs.buildInputType()
	return t
}

// toolSpecs are the parts of what a tool block holds, in the order in which they are decoded.
type toolSpecs struct{ head, body, answer, failure decode.Spec }

// toolSpec is everything a tool block may hold except its backend, in the order of the reference.
func toolSpec(t *toolDecoder) decode.Spec {
	return decode.Join(t.headSpec(), t.bodySpec(), decode.Spec{t.approvalField(), t.taskField(), t.cacheField()}, t.answerSpec(), errorSpec(&t.tool.Error, "a failed call"))
}

func (t *toolDecoder) headSpec() decode.Spec {
	return decode.Join(decode.Spec{
		decode.Attr(&t.tool.Title, "title", "The name as a person reads it."),
		decode.Attr(&t.tool.Description, "description", "What the tool does and when to use it. The model decides by this text.").Require(),
		decode.Attr(&t.readOnly, "read_only", "Whether nothing changes. Derived from the backend when it is left out."),
		decode.Attr(&t.destructive, "destructive", "Whether something may be lost. Derived from the backend when it is left out."),
		decode.Attr(&t.idempotent, "idempotent", "Whether doing it twice is doing it once. Derived from the backend when it is left out."),
		decode.Attr(&t.openWorld, "open_world", "Whether it reaches systems beyond the declared ones. Derived from the backend when it is left out."),
		t.timeoutField("How long a whole call may take."),
		decode.Attr(&t.tool.MaxText, "max_text", "How much text a model receives; what is over is cut, and the text says so.").DefaultDoc("64KiB"),
		t.requiresField(),
		t.enabledField(),
		limitField(&t.tool.Limit, "How often, and how many at once, the tool may be called."),
		t.idempotencyField(),
		decode.Attr(&t.tool.Listed, "listed", "Whether clients see the tool. A tool that is not listed serves as a step of others.").DefaultDoc("true"),
		iconsField(&t.tool.Icons, "Pictures of the tool, for clients that show some."),
		decode.Custom("schema", "JSON Schema", "The whole input schema verbatim, as in jsondecode(file(\"x.json\")), instead of input blocks.", t.inputs.decodeSchema),
	}, t.inputs.spec())
}

func (t *toolDecoder) answerSpec() decode.Spec {
	return decode.Spec{
		decode.Custom("returns", "type", "The type of the structured result; the result is checked against it and clients are told.", func(d *decode.Decoder, e hclsyntax.Expression) {
			t.tool.Returns = d.DecodeType(e)
			d.RejectFileType(t.tool.Returns, e, "a result")
			t.tool.ReturnsValidator = t.tool.Returns.Compile()
		}),
		decode.Attr(&t.tool.Result, "result", "The structured result. Without it the backend's own."),
		decode.Attr(&t.tool.Text, "text", "The text of the result. Without it the structured result as JSON."),
		decode.Blocks("content", "kind", "One piece of content, in written order, when one text is not enough. The label is text, image, audio, resource or link.", func() decode.Spec { return contentSpec(&Content{}) }, func(d *decode.Decoder, b *hclsyntax.Block) {
			if c := decodeContent(d, b); c != nil {
				t.tool.Content = append(t.tool.Content, c)
			}
		}),
	}
}

// decode reads what is not needed by other tools.
func (t *toolDecoder) decode() {
	d, b := t.dec, t.block
	d.Scope = t.scope()
	before := d.Scope
	d.Fields(b.Body, t.specs.body, b.DefRange())
	d.NonNull = d.NonNull.AddPaths(t.tool.Allow.NonNullWhenTrue())
	t.decodeApprovals()
	d.Deps.Caller = false // who may call, and what must be approved, was asked before anything is answered
	t.decodeSteps()
	d.Fields(b.Body, decode.Spec{t.taskField()}, b.DefRange())
	t.checkHasResult()
	t.decodeResult()
	d.Scope = before
	d.Fields(b.Body, decode.Spec{t.cacheField()}, b.DefRange())
	t.deriveEffects()
	t.checkKeyUseful()
	t.checkCacheable()
	t.checkDescription(t.tool.Description)
	t.decodeCompletions()
	t.warnUnusedInputs()
	t.tool.Digest = t.digest()
}

// decodeResult reads what the tool says of its result.
func (t *toolDecoder) decodeResult() {
	d, b := t.dec, t.block
	d.Fields(b.Body, t.specs.answer, b.DefRange())
	t.decodeErrorText(t.specs.failure)
}

// checkHasResult reports a tool that does nothing, and one that says nothing about its result although its backend has no answer of its own.
func (t *toolDecoder) checkHasResult() {
	if t.has("result", "text", "content") {
		return
	}
	switch {
	case len(t.tool.Steps) == 0 && !t.dec.Diags.HasErrors():
		t.dec.Errorf(t.block.DefRange(), "Tool does nothing", "A tool has a backend (%s), steps, or at least a result or a text.", strings.Join(t.loader.backendNames(), ", "))
	case len(t.tool.Steps) == 1 && !t.tool.HasNamedSteps() && !t.tool.Steps[0].Backend.Effects.Default.isSet():
		t.dec.Errorf(t.block.DefRange(), "No result", "The answer of this backend has no form of its own. Write result, text or content.")
	}
}
