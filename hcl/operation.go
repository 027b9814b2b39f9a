package hcl

import (
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/schema"
	"hatchel/hcl/spelling"
	"hatchel/internal/lazyregexp"
)

// Operation is the common part of tools, prompts, resources and completions: inputs, checks and
// steps.
type Operation struct {
	Name     string
	Requires []string      // capabilities of the client: "sampling", "elicitation", "roots", …
	Timeout  time.Duration // of the whole call, paused while the client is asked
	MaxText  decode.Size   // maximum size of a text for the model

	Input       *schema.Type // the object of all inputs
	Validator   *schema.Validator
	Completions map[string]*Completion // by input
	Checks      []*Check
	Allow       *Condition // nil to allow everyone
	Scopes      []string   // that the caller needs
	Before      []*Before  // of the approvals of a tool
	Detectors   []*Mask    // of what is sent, by name; those of called tools apply, too
	Steps       []*Step    // a single backend is one step without name; empty for a pure computation

	Digest  string      // of the block and everything it refers to
	Reads   *eval.Reads // of the block, and of the completions and approvals in it
	Missing string      // the value that it needs and that is missing, so that every call is refused; empty for none
	Range   Range
}

const (
	defaultTimeout = 60 * time.Second
	defaultMaxText = 64 << 10
)

// HasNamedSteps reports whether the operation is written as steps, whose results are read as
// step.<name>.
func (w *Operation) HasNamedSteps() bool { return len(w.Steps) > 0 && w.Steps[0].Name != "" }

// operationDecoder decodes the Operation of a block.
type operationDecoder struct {
	*decodedBlock
	cached        bool   // the previous load decoded the block, so nothing is decoded
	noun          string // the block type: "tool", "prompt", …
	block         sourceBlock
	singleBackend bool // it has one backend and no steps
	loader        *loader
	dec           *decode.Decoder
	inputs        *inputs
	input         *eval.Root

	calls       []*toolCallSite
	results     map[string]*eval.Member // of the steps so far, by name
	askKeys     map[string]Range        // ranges of the questions, by key
	endedBy     string                  // the step that ends every call, or ""
	unavailable map[string]string       // later steps, and why they cannot be read yet
	guards      []*eval.Member          // what the guards of the operation read, see guard
	stepLocals  []*hclsyntax.Attribute  // see publishLocals
	reveals     bool                    // the backend of the current step sends what masks hide
	revealsEach bool                    // of each.value
}

func newOperationDecoder(l *loader, b sourceBlock, noun string, work *Operation) *operationDecoder {
	work.Timeout, work.MaxText, work.Range = defaultTimeout, defaultMaxText, headerRange(b.Block)
	w := &operationDecoder{decodedBlock: &decodedBlock{op: work, enabled: true, deps: &dependencies{}}, noun: noun,
		block: b, loader: l, dec: l.newDecoder(b.file), results: map[string]*eval.Member{}}
	w.dec.Deps = &w.deps.Dependencies
	w.inputs = &inputs{operation: w, noun: "input", labelRanges: map[string]Range{}}
	return w
}

// decodeName reads the label, and reports a name that the protocol does not allow.
func (w *operationDecoder) decodeName() {
	w.op.Name = w.block.Labels[0]
	if !exposedNamePattern.MatchString(w.op.Name) {
		w.dec.Errorf(w.block.LabelRanges[0], "Invalid "+w.noun+" name",
			"The protocol allows 1 to 64 letters, digits, _, - and . in the name of %s, not %q.",
			diag.WithArticle(w.noun), w.op.Name)
	}
}

// enabledField declares the argument enabled.
func (w *operationDecoder) enabledField() decode.Field {
	return decode.Attr(&w.enabled, "enabled", "Whether the "+w.noun+" exists at all. Blocks "+
		"that name it stay valid if it does not.").DefaultDoc("true")
}

// timeoutField declares the timeout of the operation.
func (w *operationDecoder) timeoutField(doc string) decode.Field {
	return decode.PositiveDuration(&w.op.Timeout, "timeout", doc).DefaultDoc("60s")
}

// errorSpec declares the message of a failure; what describes the failure in the reference.
func errorSpec(dst **TextTemplate, what string) decode.Spec {
	return decode.Spec{decode.Attr(dst, "error",
		"The text of "+what+". It can read error.message, error.status, error.code, error.step and, of a "+
			"constraint of a database, error.constraint, error.table and error.columns.")}
}

// bodySpec is the spec of locals, checks, scopes and allow.
func (w *operationDecoder) bodySpec() decode.Spec {
	return decode.Spec{
		decode.Blocks("locals", "",
			"Named values of the call. Each is computed once per call, when it is first read. One that reads steps "+
				"can be read after these.", nil, w.decodeLocals),
		checkBlocks(&w.op.Checks, "check", "A precondition on the arguments. The label is the error for the caller."),
		w.guard(w.requiredScopesField()),
		w.guard(decode.Guard(&w.op.Allow, "allow",
			"Who may call: an expression over caller and input. Policies can only restrict this further.")),
	}
}

// scope returns the scope before the first step.
func (w *operationDecoder) scope() *eval.Scope {
	w.input = inputRoot(w.op.Input)
	w.input.Partial = w.inputs.partial
	return w.loader.call.With("input", w.input)
}

// decodeErrorText decodes the message of a failure.
func (w *operationDecoder) decodeErrorText(spec decode.Spec) {
	s := w.dec.Scope.With("error", errorRoot()).Without("output",
		"The backend failed, so there is no output. Use error.message.")
	if len(w.stepLocals) > 0 {
		s = w.withoutStepLocals(s)
	}
	w.dec.In(s, func() {
		w.dec.NonNull = nil // a failed check is one of the failures
		w.dec.Fields(w.block.Block, spec)
	})
}

// has reports whether the block has one of these arguments or blocks.
func (w *operationDecoder) has(names ...string) bool {
	for _, name := range names {
		if _, ok := w.block.Body.Attributes[name]; ok {
			return true
		}
	}
	return decode.FindBlock(w.block.Body, names...) != nil
}

// digest returns the digest of the block and everything it refers to, with the detectors of what it sends.
func (w *operationDecoder) digest() string {
	w.op.Detectors = w.detectors()
	w.deps.masks = append(w.deps.masks, w.op.Detectors...)
	return w.loader.blockDigest(w.block, w.deps)
}

// digestCalls includes the digests of called tools, which must be complete.
func (w *operationDecoder) digestCalls() {
	for _, c := range w.calls {
		w.op.Digest = eval.HashParts(w.op.Digest, c.call.Tool.Digest)
	}
}

// blockRange returns the range of the header of a nested block.
func (w *operationDecoder) blockRange(name string) Range {
	if b := decode.FindBlock(w.block.Body, name); b != nil {
		return headerRange(b)
	}
	return w.op.Range
}

func (w *operationDecoder) attrRange(name string) Range {
	if a, ok := w.block.Body.Attributes[name]; ok {
		return diag.RangeOf(a.Expr.Range())
	}
	return w.op.Range
}

var (
	quotedName     = lazyregexp.New("`([^`]+)`")
	identifierLike = lazyregexp.New(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
)

// descriptionRef is a name in backquotes in a description that does not exist in its block.
type descriptionRef struct {
	name    string
	warning *Diagnostic
}

// checkDescription checks the description of a block. Names in backquotes must be an input, a word
// of the block, or a tool.
func (w *operationDecoder) checkDescription(text string) {
	a, ok := w.block.Body.Attributes["description"]
	if !ok || w.dec.Diags.HasErrors() {
		return
	}
	if strings.TrimSpace(text) == "" {
		w.dec.Errorf(a.Expr.Range(), "Empty description",
			"Models choose %s by its description: write what it does and when to use it.",
			diag.ToSentence(diag.WithArticle(w.noun)))
		return
	}
	w.noteMentions(diag.RangeOf(a.Expr.Range()))
	elsewhere := ""
	for _, m := range quotedName.FindAllStringSubmatch(text, -1) {
		if _, known := w.op.Input.Lookup(m[1]); known || !identifierLike.MatchString(m[1]) {
			continue
		}
		if elsewhere == "" {
			src := w.block.file.src
			block, own := w.block.Range(), a.SrcRange
			elsewhere = string(src[block.Start.Byte:own.Start.Byte]) +
				string(src[own.End.Byte:w.block.CloseBraceRange.End.Byte])
		}
		if near := spelling.Nearest(m[1], w.op.Input.MemberNames()); near != "" || !strings.Contains(elsewhere, m[1]) {
			var one Diagnostics
			one.Warnf(diag.RangeOf(a.Expr.Range()), "Description names an unknown "+w.inputs.noun,
				"The description mentions `%s`, but there is no such %s.%s", m[1], w.inputs.noun,
				diag.SuggestOr(m[1], w.op.Input.MemberNames(), diag.ListAre(w.op.Input.MemberNames())))
			w.descriptionRefs = append(w.descriptionRefs, descriptionRef{m[1], one[0]})
		}
	}
}

// checkIdentifier reports a name that cannot be used in an expression.
func checkIdentifier(diags *Diagnostics, noun, name string, r Range) {
	if !hclsyntax.ValidIdentifier(name) {
		diags.Errorf(r, "Invalid name", "The name of %s is used in expressions, so it must start with a letter and "+
			"consist of letters, digits, _ and -: not %q.", diag.WithArticle(noun), name)
	}
}

// exposedNamePattern matches a name that the protocol allows.
var exposedNamePattern = lazyregexp.New(`^[A-Za-z0-9_.-]{1,64}$`)

// checkExposedName reports an invalid label of a block; purpose says what depends on it.
func checkExposedName(d *decode.Decoder, b *hclsyntax.Block, noun, purpose string) {
	if !exposedNamePattern.MatchString(b.Labels[0]) {
		d.Errorf(b.LabelRanges[0], "Invalid "+noun+" name",
			"The name of a %s %s: 1 to 64 letters, digits, _, - and ., not %q.", noun, purpose, b.Labels[0])
	}
}

// noteMentions tells the observer of the names in backquotes in a description: of inputs, or of tools.
func (w *operationDecoder) noteMentions(at Range) {
	if w.dec.Observer == nil {
		return
	}
	source := w.block.file.src[at.Start.Byte:at.End.Byte]
	for _, m := range quotedName.FindAllSubmatchIndex(source, -1) {
		name := string(source[m[2]:m[3]])
		read := eval.Reference{At: at, Kind: "tool", Name: name}
		if _, known := w.op.Input.Lookup(name); known {
			read.Kind, read.Owner = "input", w.noun+" "+w.op.Name
		}
		read.At.Start.Byte, read.At.End.Byte = at.Start.Byte+m[2], at.Start.Byte+m[3]
		w.dec.NoteReference(read)
	}
}

// Check is a check or an expect block: a condition, and the message when it is false.
type Check struct {
	That    *Condition
	Message *TextTemplate
	Range   Range
}

func checkSpec(c *Check) decode.Spec {
	return decode.Spec{
		decode.Attr(&c.That, "that", "The condition to check.").Require(),
		decode.Attr(&c.Message, "message",
			"The error message when the condition is false, for a message that depends on the call."),
	}
}

// expectField declares expect blocks.
func expectField(dst *[]*Check) decode.Field {
	return checkBlocks(dst, "expect", "A condition on the output. If it is false, the call fails. In a block with "+
		"exec it is checked before the commit, and a failure rolls back.")
}

// checkBlocks declares check or expect blocks. What follows a check relies on its condition.
func checkBlocks(dst *[]*Check, name, doc string) decode.Field {
	return decode.Blocks(name, "message", doc, func() decode.Spec { return checkSpec(&Check{}) },
		func(d *decode.Decoder, b *hclsyntax.Block) {
			check := decodeCheck(d, b)
			*dst = append(*dst, check)
			d.NonNull = d.NonNull.Add(check.That.NonNullWhenTrue())
		})
}

// decodeCheck decodes a check or expect block, whose message is its label or an argument.
func decodeCheck(d *decode.Decoder, b *hclsyntax.Block) *Check {
	c := &Check{Range: headerRange(b)}
	spec := checkSpec(c)
	if b.Type == "check" { // all failing checks are reported, so a message cannot rely on the others
		spec[0] = spec[0].Then(func(d *decode.Decoder, _ Range) { d.NonNull = nil })
	}
	d.Body(b, spec)
	switch {
	case len(b.Labels) > 1:
		d.Errorf(b.LabelRanges[1], "Wrong number of labels", "A %s block has one label, its message.", b.Type)
	case len(b.Labels) == 1 && c.Message != nil:
		d.Errorf(b.LabelRanges[0], "Two messages",
			"Set the message in the label or in the argument `message`, not in both.")
	case len(b.Labels) == 1:
		c.Message = hclexpr.LiteralTemplate(b.Labels[0], labelRange(b))
	case c.Message == nil:
		d.Errorf(b.DefRange(), "Missing message",
			"A %s block needs an error message for the caller: `%s \"the order is not paid\" {`.", b.Type, b.Type)
	}
	return c
}
