package hcl

import (
	"regexp"
	"slices"
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
)

// Work is what tools, prompts, resources and completions have in common: what a caller gives, what must hold of it, and what is done.
type Work struct {
	Name     string
	Requires []string      // what the client must be able to do: "sampling", "elicitation", "roots", …
	Timeout  time.Duration // of the whole, without the time in which the client is asked
	MaxText  Size          // of a text that a model receives

	Input       *schema.Type // the object of all inputs
	Validator   *schema.Validator
	Completions map[string]*Completion // by input
	Checks      []*Check
	Allow       *Condition // nil when everybody may call
	Scopes      []string   // that the caller must have been granted
	Steps       []*Step    // one backend is one step without a name; a pure computation has none

	Digest string // of the block and of everything it refers to
	Range  Range
}

// Named reports whether the backends are written as steps, so that results are read as step.<name>.
func (w *Work) Named() bool { return len(w.Steps) > 0 && w.Steps[0].Name != "" }

// A workDecl is the part of a block being decoded that says what a caller gives and what is done.
type workDecl struct {
	noun   string // of the block: "tool", "prompt", …
	work   *Work
	block  block
	alone  bool // its backend is the only one: it has no steps
	dec    *decoder
	inputs *inputs
	input  *root
	spoken []spoken
	kept   *decoded // of the load before; then nothing is decoded

	enabled bool
	calls   []*toolCallBlock
	results map[string]*member // of the steps so far, by name
	asked   map[string]Range   // where each question is asked, by its key
	over    string             // the step after which no call goes on, or ""
	later   map[string]string  // steps, and why they cannot be read before they were done
}

func newWorkDecl(l *loader, b block, noun string, work *Work) *workDecl {
	work.Name, work.Timeout, work.MaxText, work.Range = b.label(0), defaultTimeout, defaultMaxText, at(b.DefRange())
	w := &workDecl{noun: noun, work: work, block: b, dec: l.decoder(b.file), enabled: true, results: map[string]*member{}}
	w.dec.uses = &uses{}
	w.inputs = newInputs(w)
	return w
}

const (
	defaultTimeout = 60 * time.Second
	defaultMaxText = 64 << 10
)

// offeredName is a name under which the protocol lets something be offered.
var offeredName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// named reports a name that the protocol does not allow.
func (w *workDecl) named() {
	if !offeredName.MatchString(w.work.Name) {
		w.dec.errorf(w.block.LabelRanges[0], "Invalid "+w.noun+" name", "The protocol allows 1 to 64 letters, digits, _, - and . in the name of %s: %q cannot be one.", article(w.noun), w.work.Name)
	}
}

// timed reports a timeout that nothing can keep.
func (w *workDecl) timed() {
	if a, ok := w.block.Body.Attributes["timeout"]; ok && w.work.Timeout == 0 && !w.dec.diags.HasErrors() {
		w.dec.errorf(a.Expr.Range(), "Invalid duration", "A call that may take no time at all never succeeds. Write how long it may take, as in \"30s\".")
	}
}

// enabledField declares whether the block counts.
func (w *workDecl) enabledField() Field {
	return Attr(&w.enabled, "enabled", "Whether the "+w.noun+" exists at all.").Or("true")
}

// timeoutField declares how long all of it may take.
func (w *workDecl) timeoutField(doc string) Field {
	return Attr(&w.work.Timeout, "timeout", doc).Or("60s")
}

// errorSpec declares what is said of a failure; what is its name in a sentence.
func errorSpec(dst **Message, what string) Spec {
	return Spec{Attr(dst, "error", "The text of "+what+": error.message, error.status, error.code and error.step can be read.")}
}

// bodySpec is what must hold before anything is done.
func (w *workDecl) bodySpec() Spec {
	return Spec{
		labelled("locals", "", "Names for values of the call. Each is computed when it is first read, once a call.", noSpec, w.localsBlock),
		labelled("check", "message", "What must hold before anything is done. The label is what the caller is told otherwise.", func() Spec { return checkSpec(&Check{}) }, func(d *decoder, b *hclsyntax.Block) {
			check := d.check(b)
			w.work.Checks = append(w.work.Checks, check)
			d.facts = d.facts.and(check.That) // it holds for everything after it
		}),
		w.scopesField(),
		Attr(&w.work.Allow, "allow", "Who may call: a program over caller and input. Policies can only forbid more."),
	}
}

// scope is what can be read before anything was done.
func (w *workDecl) scope() *scope {
	w.input = inputRoot(w.work.Input)
	w.input.partial = w.inputs.partial
	return w.dec.shared.call.with("input", w.input)
}

// failing decodes what is said of a failure.
func (w *workDecl) failing(spec Spec) {
	d, before := w.dec, w.dec.scope
	d.facts = nil // a check that does not hold is one of the failures
	d.scope = before.with("error", failureRoot()).without("output", "The backend failed, so there is no output. Read error.message.")
	d.fields(w.block.Body, spec, w.block.DefRange())
	d.scope = before
}

// says reports whether the block holds one of these arguments or blocks.
func (w *workDecl) says(names ...string) bool {
	for _, name := range names {
		if _, ok := w.block.Body.Attributes[name]; ok {
			return true
		}
	}
	return slices.ContainsFunc(w.block.Body.Blocks, func(b *hclsyntax.Block) bool { return slices.Contains(names, b.Type) })
}

// digest is of the block and of everything it refers to.
func (w *workDecl) digest() string { return w.dec.shared.digest(w.block, w.dec.uses) }

// digestCalls makes the digest one of the tools that are called, too. Their own must be complete.
func (w *workDecl) digestCalls() {
	for _, c := range w.calls {
		w.work.Digest = digest(w.work.Digest, c.call.Tool.Digest)
	}
}

// blockRange is where a nested block begins.
func (w *workDecl) blockRange(name string) hclv2.Range {
	for _, b := range w.block.Body.Blocks {
		if b.Type == name {
			return b.DefRange()
		}
	}
	return w.block.DefRange()
}

func (w *workDecl) attrRange(name string) hclv2.Range {
	if a, ok := w.block.Body.Attributes[name]; ok {
		return a.Expr.Range()
	}
	return w.block.DefRange()
}
