package hcl

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// Tool is one tool block.
type Tool struct {
	Operation
	Answer
	request string // digest of the request that it sends; empty for none, and for more than one

	Title       string
	Description string
	Icons       []*Icon
	Meta        []byte // of its entry in lists, an object as encoded JSON; nil for none
	Listed      bool
	BuiltIn     bool         // an argument of another block adds it, and no tool block
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
	ResultMeta       *Expr        // an object with known names; nil for none
	View             *View        // nil for none
	Returns          *schema.Type // declared type of the structured result; nil for none
	ReturnsValidator *schema.Validator

	answer *eval.TypedExpr // what is known of the structured result; nil for none
}

// ResultType returns the type of the structured result as the configuration says it: declared, or that of the result or
// of the backend; nil for an unknown one, and for none.
func (t *Tool) ResultType() *schema.Type {
	switch {
	case t.Returns != nil:
		return t.Returns
	case t.Result != nil:
		return t.Result.Type()
	case len(t.Steps) != 1 || t.HasNamedSteps() || t.Text != nil || len(t.Content) > 0:
		return nil
	}
	effects := t.Steps[0].Backend.Effects
	if effects.Default.Content != "" { // what another server promises is no promise of the tool
		return nil
	}
	return effects.DefaultType()
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
	t.result = t.tool
	t.specs = toolSpecs{t.headSpec(), t.shapeSpec(), t.bodySpec(),
		decode.Spec{t.approvalField(), t.taskField(), t.cacheField(), t.viewField()},
		t.answerSpec(), errorSpec(&t.tool.Error, "a failed call")}
	return t
}

// declareTool reads the name, the description and the inputs.
func (l *loader) declareTool(b sourceBlock) *toolDecoder {
	t := newToolDecoder(l, b)
	t.decodeName()
	s := &t.specs
	t.dec.CheckNames(b.Block, s.head, s.shape, s.body, s.blocks, s.answer, s.failure, t.loader.blockSpecs.operation)
	t.dec.Fields(b.Block, s.head)
	t.dec.Fields(b.Block, s.shape)
	t.announceResultSize()
	t.addKeyInput()
	t.addAnswerInputs()
	t.addCursorInput()
	t.inputs.buildInputType()
	return t
}

// toolSpecs are the parts of the spec of a tool block, in decoding order.
type toolSpecs struct{ head, shape, body, blocks, answer, failure decode.Spec }

// toolSpec is the spec of a tool block without its backend, in the order of the reference.
func toolSpec(t *toolDecoder) decode.Spec {
	return decode.Join(t.specs.head, t.specs.body, t.specs.blocks, t.specs.answer, t.specs.shape, t.specs.failure)
}

func (t *toolDecoder) headSpec() decode.Spec {
	return decode.Spec{
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
			"truncated, with a notice. A structured result may have four times as much: a longer list is cut, with a "+
			"notice, and any other value fails the call. More than 50000 bytes are also announced to the client, as "+
			"anthropic/maxResultSizeChars.").DefaultDoc("64KiB"),
		t.requiresField(),
		t.enabledField(),
		t.guard(limitField(&t.tool.Limit, "A limit on the rate and concurrency of the tool.")),
		t.idempotencyField(),
		decode.Attr(&t.tool.Listed, "listed", "Whether clients can see and call the tool. A tool that is not listed "+
			"can be called by steps of other tools.").DefaultDoc("true"),
		iconsField(&t.tool.Icons, "Icons of the tool."),
		metaField(&t.tool.Meta, "the tool"),
		decode.Custom("schema", "JSON Schema",
			"The input schema as a JSON Schema, as in jsondecode(file(\"x.json\")), in place of input blocks.",
			t.inputs.decodeSchema),
		decode.Blocks("input", "name", "One argument of the tool.", inputSpec, t.inputs.decodeInput),
	}
}

func (t *toolDecoder) answerSpec() decode.Spec {
	return decode.Spec{
		decode.Custom("returns", "type", "The type of the structured result. Results are validated against it, and "+
			"clients receive it as the output schema. Without result, members of the backend's output that the type "+
			"does not declare are left out.", func(d *decode.Decoder, e hclsyntax.Expression) {
			t.tool.Returns = d.DecodeType(e)
			d.RejectFileType(t.tool.Returns, e, "a result")
			t.tool.ReturnsValidator = t.tool.Returns.Compile()
		}),
		decode.Attr(&t.tool.Result, "result", "The structured result. By default the output of the backend."),
		decode.Attr(&t.tool.Text, "text", "The text of the result. By default the structured result as JSON."),
		contentBlocks(&t.tool.Content, "One content item, in written order, when one text is not enough. The label "+
			"is text, image, audio, resource or link."),
		t.resultMetaField(),
	}
}

// decode decodes the parts that other tools do not need.
func (t *toolDecoder) decode() {
	d, b := t.dec, t.block
	d.Scope = t.scope()
	var page *eval.Root
	if t.tool.Page != nil {
		page = t.tool.Page.root()
		d.Scope = d.Scope.With("page", page)
	}
	d.In(d.Scope, func() {
		d.Fields(b.Block, t.specs.body)
		t.decodeApprovals()
		d.Deps.Caller = false // access rules and approvals do not make the result depend on the caller
		t.decodeSteps()
		d.Fields(b.Block, decode.Spec{t.taskField()})
		t.checkTask()
		t.checkHasResult()
		d.Fields(b.Block, t.specs.answer)
		t.maskReturns()
		t.decodeErrorText(t.specs.failure)
	})
	d.Fields(b.Block, decode.Spec{t.cacheField(), t.viewField()})
	t.deriveEffects()
	t.checkKeyUseful()
	t.checkCacheable()
	t.checkDescription(t.tool.Description)
	t.decodeCompletions()
	t.warnUnusedInputs()
	if t.tool.Result == nil && (t.tool.Returns != nil || !t.has("text", "content")) {
		t.deliverDefault()
	}
	t.requireWhole()
	t.checkAnswer()
	t.checkPage(page)
	t.tool.Digest = t.digest()
	t.tool.request = t.loader.requestDigest(t.block)
}

// maskReturns keeps what is known of the result, and makes its declared type one of what callers see.
func (t *toolDecoder) maskReturns() {
	result, ok := t.resultFacts()
	if !ok {
		return
	}
	if t.tool.answer = &result; t.tool.Returns == nil {
		return
	}
	masked := t.tool.Returns.ReplaceMembers(func(path []string, m *schema.Type) *schema.Type {
		if with := result.MaskedAt(path); with != "" {
			return m.Masked(with == eval.MaskHash)
		}
		return nil
	})
	if masked != t.tool.Returns {
		t.tool.Returns, t.tool.ReturnsValidator = masked, masked.Compile()
	}
}

// resultFacts returns what is known of the structured result, if there is one.
func (t *toolDecoder) resultFacts() (of eval.TypedExpr, ok bool) {
	if t.tool.Result != nil {
		return eval.TypedExpr{Type: eval.AnyType, Facts: t.tool.Result.Facts()}, true
	}
	if len(t.tool.Steps) != 1 || t.tool.HasNamedSteps() {
		return of, false
	}
	output := t.tool.Steps[0].Backend.Effects
	root := eval.TypedExpr{Type: eval.AnyType, Facts: output.Facts}
	if output.Default.Member == "" {
		return root, true // the members of the output itself
	}
	return eval.TypedExpr{Type: eval.AnyType, Facts: root.MemberFacts(output.Default.Member)}, true
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
			strings.Join(diag.SortedNames(t.loader.backendKinds), ", "))
	case len(t.tool.Steps) == 1 && !t.tool.HasNamedSteps() && !t.tool.Steps[0].Backend.Effects.Default.isSet():
		t.dec.Errorf(t.block.DefRange(), "No result",
			"The output of this backend has no default result. Set result, text or content.")
	}
}

// decodeTools decodes the tool blocks: first the inputs of all, so that each can call the others,
// then the rest.
func (l *loader) decodeTools() {
	blocks := l.blocks["tool"]
	decls := make([]*toolDecoder, len(blocks))
	l.opts.Parallel(len(decls), func(i int) {
		if w := cachedOperation(blocks[i]); w != nil {
			decls[i] = &toolDecoder{tool: w.result.(*Tool), operationDecoder: w}
			return
		}
		decls[i] = l.declareTool(blocks[i])
	})
	byName := make(map[string]*toolDecoder, len(decls))
	for _, t := range decls {
		if l.declare("tool", t.tool.Name, t.block) {
			byName[t.tool.Name] = t
		}
	}
	l.tools = byName
	l.opts.Parallel(len(decls), func(i int) {
		if t := decls[i]; !t.cached {
			t.decode()
			t.dropBody()
		}
	})
	for _, t := range decls {
		l.commit(t.operationDecoder)
	}
	l.addApprovalsTool()
	l.checkCycles(decls)
	l.warnConfusableNames(byName)
	for _, name := range diag.SortedNames(byName) {
		if t := byName[name]; t.enabled {
			l.config.Tools = append(l.config.Tools, t.tool)
		} else {
			l.disabled = append(l.disabled, listedOperation{"tools", &t.tool.Operation})
		}
	}
	slices.SortFunc(l.config.Tools, func(a, b *Tool) int { return strings.Compare(a.Name, b.Name) })
}

// warnConfusableNames warns about names that models would confuse.
func (l *loader) warnConfusableNames(tools map[string]*toolDecoder) {
	seen := make(map[string]string, len(tools))
	separators := strings.NewReplacer("-", "", "_", "", ".", "")
	for _, name := range diag.SortedNames(tools) {
		plain := separators.Replace(strings.ToLower(name))
		if other, ok := seen[plain]; ok {
			l.diags.Warnf(labelRange(tools[name].block.Block), "Easily confused names",
				"The tools %q and %q differ only in case or separators; models will confuse them.", other, name)
			continue
		}
		seen[plain] = name
	}
}

// deriveEffects derives the annotations of the tool from its backends, and rejects contradictions.
func (t *toolDecoder) deriveEffects() {
	derived := Effects{ReadOnly: true, Idempotent: true}
	for _, s := range t.tool.Steps {
		f := s.Backend.Effects
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
	for _, s := range t.tool.Steps {
		if t.contradicts(s.Backend.Effects) {
			return
		}
	}
	switch {
	case t.readOnly != nil && *t.readOnly && derived.Writes:
		t.dec.Diags.Errorf(t.attrRange("read_only"), "Contradictory annotation",
			"read_only = true contradicts the backend of this tool, which changes something.")
	case t.tool.ReadOnly && t.tool.Destructive:
		t.dec.Diags.Errorf(t.attrRange("destructive"), "Contradictory annotation",
			"A tool cannot be read_only and destructive at once.")
	}
}

// contradicts reports an annotation that a backend knows to be wrong.
func (t *toolDecoder) contradicts(f Effects) bool {
	if f.Contradiction == nil {
		return false
	}
	for name, pair := range map[string][2]*bool{
		"read_only": {t.readOnly, nil}, "destructive": {nil, t.destructive},
	} {
		if why := f.Contradiction(pair[0], pair[1]); why != "" {
			t.dec.Diags.Errorf(t.attrRange(name), "Contradictory annotation", "%s", why)
			return true
		}
	}
	return false
}

// requireReadOnly reports backends that change something in a read-only operation.
func (w *operationDecoder) requireReadOnly(why string) {
	for _, s := range w.op.Steps {
		if changesData(s.Backend, map[*Tool]bool{}) {
			w.dec.Diags.Errorf(s.Backend.Range, "Effect not allowed",
				"%s, so it must not change anything. This %s block does; use a tool for changes.", why, s.Backend.Kind)
		}
	}
}

// changesData reports whether a backend certainly changes something, directly or through called
// tools. Seen holds the visited tools.
func changesData(b *Backend, seen map[*Tool]bool) bool {
	call, ok := b.Config.(*ToolCall)
	if !ok || seen[call.Tool] {
		return b.Effects.Writes
	}
	seen[call.Tool] = true
	return slices.ContainsFunc(call.Tool.Steps, func(s *Step) bool { return changesData(s.Backend, seen) })
}
