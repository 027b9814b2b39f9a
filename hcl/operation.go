package hcl

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/spelling"
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
	Steps       []*Step    // a single backend is one step without name; empty for a pure computation

	Digest  string // of the block and everything it refers to
	Missing string // the value that it needs and that is missing, so that every call is refused; empty for none
	Range   Range
}

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
}

func newOperationDecoder(l *loader, b sourceBlock, noun string, work *Operation) *operationDecoder {
	work.Timeout, work.MaxText, work.Range = 60*time.Second, 64<<10, headerRange(b.Block)
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
	return decode.Attr(&w.enabled, "enabled", "Whether the "+w.noun+" exists at all.").DefaultDoc("true")
}

// timeoutField declares the timeout of the operation.
func (w *operationDecoder) timeoutField(doc string) decode.Field {
	return decode.PositiveDuration(&w.op.Timeout, "timeout", doc).DefaultDoc("60s")
}

// errorSpec declares the message of a failure; what describes the failure in the reference.
func errorSpec(dst **TextTemplate, what string) decode.Spec {
	return decode.Spec{decode.Attr(dst, "error",
		"The text of "+what+". It can read error.message, error.status, error.code and error.step.")}
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
	d, before := w.dec, w.dec.Scope
	d.NonNull = nil // a failed check is one of the failures
	d.Scope = before.With("error", errorRoot()).Without("output",
		"The backend failed, so there is no output. Use error.message.")
	if len(w.stepLocals) > 0 {
		d.Scope = w.withoutStepLocals(d.Scope)
	}
	d.Fields(w.block.Block, spec)
	d.Scope = before
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

// digest returns the digest of the block and everything it refers to.
func (w *operationDecoder) digest() string { return w.loader.blockDigest(w.block, w.deps) }

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
	quotedName     = regexp.MustCompile("`([^`]+)`")
	identifierLike = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
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
			w.descriptionRefs = append(w.descriptionRefs, descriptionRef{m[1], &Diagnostic{
				Severity: diag.Warning, Summary: "Description names an unknown " + w.inputs.noun,
				Subject: diag.RangeOf(a.Expr.Range()),
				Detail: fmt.Sprintf("The description mentions `%s`, but there is no such %s.%s", m[1], w.inputs.noun,
					diag.SuggestOr(m[1], w.op.Input.MemberNames(), diag.ListAre(w.op.Input.MemberNames()))),
			}})
		}
	}
}
