package hcl

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/schema"
)

// Tool is one tool block.
type Tool struct {
	Operation
	Title       string
	Description string
	Icons       []*Icon
	Listed      bool
	Task        *Task        // nil if calls never become tasks
	Limit       *Limit       // nil for none
	Idempotency *Idempotency // nil for no idempotency keys
	Cache       *ResultCache // nil for no cache
	Approvals   []*Approval  // in written order

	ReadOnly    bool
	Destructive bool
	Idempotent  bool
	OpenWorld   bool

	Result           *Program // nil for the default result of the backend
	Content          []*Content
	Text             *TextTemplate
	Error            *TextTemplate
	Returns          *schema.Type // declared type of the structured result; nil for none
	ReturnsValidator *schema.Validator
}

// toolDecoder decodes a tool: first its inputs, so that other tools can call it, then the rest.
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
	t.dec.CheckNames(b.Block, t.specs.head, t.specs.body, t.specs.answer, t.specs.failure,
		decode.Spec{t.approvalField(), t.taskField(), t.cacheField()}, t.loader.blockSpecs.operation)
	t.dec.Fields(b.Block, t.specs.head)
	t.addKeyInput()
	t.inputs.buildInputType()
	return t
}

// toolSpecs are the parts of the spec of a tool block, in decoding order.
type toolSpecs struct{ head, body, answer, failure decode.Spec }

// toolSpec is the spec of a tool block without its backend, in the order of the reference.
func toolSpec(t *toolDecoder) decode.Spec {
	return decode.Join(t.headSpec(), t.bodySpec(), decode.Spec{t.approvalField(), t.taskField(), t.cacheField()},
		t.answerSpec(), errorSpec(&t.tool.Error, "a failed call"))
}

func (t *toolDecoder) headSpec() decode.Spec {
	return decode.Join(decode.Spec{
		decode.Attr(&t.tool.Title, "title", "The display name."),
		decode.Attr(&t.tool.Description, "description",
			"What the tool does and when to use it. The model chooses tools by this text.").Require(),
		decode.Attr(&t.readOnly, "read_only", "Whether the tool changes nothing. Derived from the backend by default."),
		decode.Attr(&t.destructive, "destructive",
			"Whether the tool may delete or overwrite data. Derived from the backend by default."),
		decode.Attr(&t.idempotent, "idempotent",
			"Whether repeating a call has no additional effect. Derived from the backend by default."),
		decode.Attr(&t.openWorld, "open_world",
			"Whether the tool reaches systems other than the declared ones. Derived from the backend by default."),
		t.timeoutField("The timeout of a whole call."),
		decode.Attr(&t.tool.MaxText, "max_text", "The maximum amount of text that a model receives. Longer text is "+
			"truncated, with a notice.").DefaultDoc("64KiB"),
		t.requiresField(),
		t.enabledField(),
		limitField(&t.tool.Limit, "A limit on the rate and concurrency of the tool."),
		t.idempotencyField(),
		decode.Attr(&t.tool.Listed, "listed", "Whether clients can see and call the tool. A tool that is not listed "+
			"can be called by steps of other tools.").DefaultDoc("true"),
		iconsField(&t.tool.Icons, "Icons of the tool."),
		decode.Custom("schema", "JSON Schema",
			"The input schema as a JSON Schema, as in jsondecode(file(\"x.json\")), in place of input blocks.",
			t.inputs.decodeSchema),
	}, t.inputs.spec())
}

func (t *toolDecoder) answerSpec() decode.Spec {
	return decode.Spec{
		decode.Custom("returns", "type", "The type of the structured result. Results are validated against it, and "+
			"clients receive it as the output schema.", func(d *decode.Decoder, e hclsyntax.Expression) {
			t.tool.Returns = d.DecodeType(e)
			d.RejectFileType(t.tool.Returns, e, "a result")
			t.tool.ReturnsValidator = t.tool.Returns.Compile()
		}),
		decode.Attr(&t.tool.Result, "result", "The structured result. By default the output of the backend."),
		decode.Attr(&t.tool.Text, "text", "The text of the result. By default the structured result as JSON."),
		contentBlocks(&t.tool.Content, "One content item, in written order, when one text is not enough. The label "+
			"is text, image, audio, resource or link."),
	}
}

// decode decodes the parts that other tools do not need.
func (t *toolDecoder) decode() {
	d, b := t.dec, t.block
	d.Scope = t.scope()
	before := d.Scope
	d.Fields(b.Block, t.specs.body)
	t.decodeApprovals()
	d.Deps.Caller = false // access rules and approvals do not make the result depend on the caller
	t.decodeSteps()
	d.Fields(b.Block, decode.Spec{t.taskField()})
	t.checkTask()
	t.checkHasResult()
	t.decodeResult()
	d.Scope = before
	d.Fields(b.Block, decode.Spec{t.cacheField()})
	t.deriveEffects()
	t.checkKeyUseful()
	t.checkCacheable()
	t.checkDescription(t.tool.Description)
	t.decodeCompletions()
	t.warnUnusedInputs()
	t.tool.Digest = t.digest()
}

// decodeResult decodes the result of the tool.
func (t *toolDecoder) decodeResult() {
	d, b := t.dec, t.block
	d.Fields(b.Block, t.specs.answer)
	t.decodeErrorText(t.specs.failure)
}

// checkHasResult reports a tool that does nothing, and one without a result whose backend has no
// default result.
func (t *toolDecoder) checkHasResult() {
	if t.has("result", "text", "content") {
		return
	}
	switch {
	case len(t.tool.Steps) == 0 && !t.dec.Diags.HasErrors():
		t.dec.Errorf(t.block.DefRange(), "Tool does nothing",
			"A tool needs a backend (%s), steps, or at least a result or a text.",
			strings.Join(t.loader.backendNames(), ", "))
	case len(t.tool.Steps) == 1 && !t.tool.HasNamedSteps() && !t.tool.Steps[0].Backend.Effects.Default.isSet():
		t.dec.Errorf(t.block.DefRange(), "No result",
			"The output of this backend has no default result. Set result, text or content.")
	}
}
