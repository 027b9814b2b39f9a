package hcl

import (
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// Step is one step of a tool.
type Step struct {
	Name            string // empty for the only backend of its operation
	When            *Condition
	Each            *Expr
	Key             *Expr // names the elements of a list; nil for their index
	Parallel        int   // number of elements of Each processed at once; at least 1
	ContinueOnError bool  // on_error = "continue"
	Repeat          *Repeat
	Backend         *Backend
	Expects         []*Check
	Streams         bool // the next step alone reads its rows, as they arrive
	KeepsRaw        bool // a later step sends what masks hide of its output
	Reveals         bool // its backend sends what masks hide
	RevealsEach     bool // of each.value
	Range           Range
}

// Repeat is the repeat block: it repeats a backend until a condition is true.
type Repeat struct {
	Until *Condition
	Every time.Duration
	Max   int
}

// maxSteps bounds the steps of an operation. The scope of each step names those before it.
const maxSteps = 1000

// decodeSteps decodes the single backend, or the steps in written order.
func (w *operationDecoder) decodeSteps() {
	var backends, steps []*hclsyntax.Block
	for _, b := range w.block.Body.Blocks {
		switch {
		case w.loader.isBackend(b.Type):
			backends = append(backends, b)
			if b.Type == "tool" && !w.singleBackend {
				w.dec.Errorf(b.DefRange(), "Tool outside a step",
					"Call another tool in a step: step \"name\" { tool \"other\" { … } }.")
			}
		case b.Type == "step":
			steps = append(steps, b)
		case isStepBlock(b.Type):
			w.dec.Errorf(b.DefRange(), "Block outside a step", "%s belongs in a step: step \"name\" { %s … }.",
				b.Type, b.Type)
		}
	}
	switch {
	case len(steps) > 0:
		if len(backends) > 0 {
			w.dec.Errorf(backends[0].DefRange(), "Backend and steps",
				"%s has one backend or steps. Move this %s block into a step of its own.",
				diag.ToSentence(diag.WithArticle(w.noun)), backends[0].Type)
		}
		w.dec.Scope = w.dec.Scope.Without("output",
			"This "+w.noun+" has steps, and each has its own output. Read it as step.<name>.")
		if len(steps) > maxSteps {
			w.dec.Errorf(steps[maxSteps].DefRange(), "Too many steps", "%s may have %d steps, and this one has %d. "+
				"Use each for what is repeated, or move steps to other tools and call these: tool \"other\" { … }.",
				diag.ToSentence(diag.WithArticle(w.noun)), maxSteps, len(steps))
			w.dec.Scope = w.dec.Scope.With("step", &eval.Root{Noun: "step", Type: eval.AnyType, Partial: true,
				Members: map[string]*eval.Member{}})
			return
		}
		w.declareSteps(steps)
		for _, b := range steps {
			w.decodeStep(b)
		}
		w.publishLocals(true)
	case len(backends) > 0:
		for _, extra := range backends[1:] {
			more := " For several, write steps: step \"name\" { " + extra.Type + " … }."
			if w.singleBackend {
				more = ""
			}
			w.dec.Errorf(extra.DefRange(), "Two backends", "%s can have only one backend.%s",
				diag.ToSentence(diag.WithArticle(w.noun)), more)
		}
		w.decodeSingleBackend(backends[0])
	default:
		w.checkNoBackend()
	}
}

// decodeSingleBackend decodes the single backend, whose output is the root output.
func (w *operationDecoder) decodeSingleBackend(b *hclsyntax.Block) {
	s := &Step{Parallel: 1, Range: headerRange(b)}
	s.Backend = w.decodeBackend(b)
	w.op.Steps = []*Step{s}
	w.dec.Scope = w.dec.Scope.With("output", s.Backend.outputRoot())
	w.dec.Fields(w.block.Block, decode.Spec{expectField(&s.Expects)})
	answer := s.Backend.outputRoot()
	answer.Delivers = w.noun == "tool" || w.noun == "completion"
	w.dec.Scope = w.dec.Scope.With("output", answer)
}

// checkNoBackend checks an operation that only computes.
func (w *operationDecoder) checkNoBackend() {
	if expect := decode.FindBlock(w.block.Body, "expect"); expect != nil {
		w.dec.Errorf(expect.DefRange(), "Nothing to expect",
			"expect checks the output of a backend, and this %s has none. Use check to check the %ss.", w.noun,
			w.inputs.noun)
	}
	if w.dec.Diags.HasErrors() {
		// the invalid part may be the backend
		w.dec.Scope = w.dec.Scope.With("output", eval.OutputRoot(eval.AnyType, eval.Facts{}))
	}
}

// headSpec is the spec of what is decoded before the backend.
func (s *Step) headSpec() decode.Spec {
	return decode.Spec{
		decode.EachField(&s.Each, "each",
			"A list or map: the step runs for every element, and step.<name> is the list or map of results, "+
				"each with the key of its element."),
		decode.KeyField(&s.Key, &s.Each, "key",
			"The name of an element of a list, such as each.value.id: a string or an integer that no other "+
				"element has. Failures, results and the idempotency key of an element have it; without it they have "+
				"the index."),
		decode.Attr(&s.Parallel, "parallel", "The number of elements processed at once.").DefaultDoc("1"),
		decode.BoolChoice(&s.ContinueOnError, "on_error",
			`"fail" ends the call; "continue" continues and sets step.<name>.error.message. The outcome of a call `+
				`with such a failure is partial.`, "fail",
			"continue").DefaultDoc("fail"),
		decode.Guard(&s.When, "when",
			"The step is skipped when this is false; with each, evaluated for every element."),
	}
}

// outputSpec is the spec of what reads the output of the backend.
func (s *Step) outputSpec() decode.Spec {
	return decode.Spec{
		decode.Block(&s.Repeat, "repeat",
			"Repeats the backend until a condition is true, within the timeout of the tool.", (*Repeat).spec),
		expectField(&s.Expects),
	}
}

func (r *Repeat) spec() decode.Spec {
	return decode.Spec{
		decode.Attr(&r.Until, "until", "The condition that ends the repetition.").Require(),
		decode.Attr(&r.Every, "every", "The pause between two attempts.").DefaultDoc("1s"),
		decode.Attr(&r.Max, "max", "The maximum number of attempts.").DefaultDoc("until the timeout"),
	}
}

// decodeStep decodes one step block.
func (w *operationDecoder) decodeStep(b *hclsyntax.Block) {
	d := w.dec
	if len(b.Labels) != 1 {
		d.Errorf(b.TypeRange, "Wrong number of labels", "A step block is written `step \"name\" {`.")
		return
	}
	s := &Step{Name: b.Labels[0], Range: headerRange(b)}
	w.checkStepName(s, b)
	head, output := s.headSpec(), s.outputSpec()
	d.CheckNames(b, head, output, w.loader.blockSpecs.backends, w.loader.blockSpecs.stepBlocks)

	d.In(d.Scope.Without("output", "output is the result of the backend, which is not available here. It can be "+
		"read in the step's expect and repeat."), func() {
		d.Fields(b, head)
		w.reveals, w.revealsEach = false, false
		s.Backend = w.decodeStepBackend(b)
		s.Reveals, s.RevealsEach = w.reveals, w.revealsEach
		d.Scope = d.Scope.With("output", s.Backend.outputRoot())
		d.Fields(b, output)
	})

	s.Parallel = max(s.Parallel, 1)
	if s.Repeat != nil && s.Repeat.Every == 0 {
		s.Repeat.Every = time.Second
	}
	w.op.Steps = append(w.op.Steps, s)
	d.NonNull = nonNullAfter(s, d.NonNull)
	w.publishStep(s)
}

// checkStepName reports a duplicate name and an unreachable step.
func (w *operationDecoder) checkStepName(s *Step, b *hclsyntax.Block) {
	d := w.dec
	checkIdentifier(&d.Diags, "step", s.Name, labelRange(b))
	if w.results[s.Name] != nil {
		d.Errorf(b.LabelRanges[0], "Duplicate step", "There is already a step %q in this %s.", s.Name, w.noun)
	}
	if w.endedBy != "" {
		d.Errorf(b.DefRange(), "Unreachable step",
			"The step %q always ends the call before this one. Give it a `when`, or move it to the end.", w.endedBy)
	}
}

// publishStep makes the result of a step readable for later steps.
func (w *operationDecoder) publishStep(s *Step) {
	if s.Backend.endsCall() {
		w.dec.NonNull = w.dec.NonNull.Add(s.When.NonNullWhenFalse())
		if s.When == nil {
			w.endedBy = s.Name
		}
	}
	w.results[s.Name] = w.resultMember(s)
	members := make(map[string]*eval.Member, len(w.results))
	for name, m := range w.results {
		if m.Type.Kind != schema.Null {
			members[name] = m
		}
	}
	if !s.Backend.hasResult() {
		w.unavailable[s.Name] = "The step \"" + s.Name + "\" has no result: a " + s.Backend.Kind + " block gives none."
	}
	w.dec.Scope = w.dec.Scope.With("step", stepRoot(members, w.unavailable))
	w.publishLocals(false)
}

// declareSteps records the steps of a tool, so that reading a later step and reading an unknown one
// have different errors.
func (w *operationDecoder) declareSteps(steps []*hclsyntax.Block) {
	w.unavailable = map[string]string{}
	for _, b := range steps {
		if len(b.Labels) == 1 {
			w.unavailable[b.Labels[0]] = "The step \"" + b.Labels[0] + "\" runs later: steps run in written order."
		}
	}
	w.dec.Scope = w.dec.Scope.With("step", stepRoot(map[string]*eval.Member{}, w.unavailable))
	w.publishLocals(false)
}

func (w *operationDecoder) decodeStepBackend(b *hclsyntax.Block) *Backend {
	var found, asks []*hclsyntax.Block
	for _, nested := range b.Body.Blocks {
		switch {
		case nested.Type == "ask":
			asks = append(asks, nested)
		case w.loader.isBackend(nested.Type), isStepBlock(nested.Type):
			found = append(found, nested)
		}
	}
	if len(asks) > 0 {
		for _, extra := range found {
			w.dec.Errorf(extra.DefRange(), "Two backends",
				"A step with ask blocks does nothing else. Move this %s block into a step of its own.", extra.Type)
		}
		w.checkMetaArguments(b, "ask", allowedWithAsk)
		return w.decodeAskGroup(b, asks)
	}
	if len(found) == 0 {
		unknown := func(b *hclsyntax.Block) bool { return b.Type != "repeat" && b.Type != "expect" }
		if !slices.ContainsFunc(b.Body.Blocks, unknown) { // an unknown block may be meant as the backend
			backends := append(diag.SortedNames(w.loader.backendKinds), "tool")
			w.dec.Errorf(b.DefRange(), "Missing backend",
				"A step has one backend (%s), or one or more ask, or one of %s.", strings.Join(backends, ", "),
				diag.JoinOr(stepBlockNames()))
		}
		return &Backend{Effects: Effects{Output: eval.AnyType}, Range: headerRange(b)}
	}
	for _, extra := range found[1:] {
		w.dec.Errorf(extra.DefRange(), "Two backends",
			"A step has one backend. Move this %s block into a step of its own.", extra.Type)
	}
	if a, own := findStepBlock(found[0].Type); own {
		w.checkMetaArguments(b, a.Name, a.allowed)
	}
	return w.decodeBackend(found[0])
}

// outputRoot returns the root output of a backend.
func (b *Backend) outputRoot() *eval.Root { return eval.OutputRoot(b.Effects.Output, b.Effects.Facts) }

// resultMember returns the member step.<name> for later steps.
func (w *operationDecoder) resultMember(s *Step) *eval.Member {
	out := s.Backend.Effects.Output
	if !s.Backend.hasResult() {
		return stepMember(s.Name, out, "", eval.Facts{})
	}
	facts := s.Backend.Effects.Facts
	if s.ContinueOnError {
		out = typeWithError(out)
	}
	why := ""
	if s.When != nil {
		why = "step." + s.Name + " is null when its `when` is false"
	}
	if s.Each == nil {
		return stepMember(s.Name, out, why, facts)
	}
	out, facts = typeWithKey(out, s), eval.EachOf(eval.TypedExpr{Type: out, Facts: facts})
	if s.When != nil {
		out = out.AsNullable()
	}
	switch s.Each.Type().Kind {
	case schema.Map, schema.Object:
		return stepMember(s.Name, &schema.Type{Kind: schema.Map, Elem: out}, "", facts)
	case schema.List, schema.Set:
		return stepMember(s.Name, schema.ListOf(out), "", facts)
	}
	return stepMember(s.Name, eval.AnyType, "", facts)
}

// typeWithKey returns the type of the result for one element of each, which has the member key.
func typeWithKey(t *schema.Type, s *Step) *schema.Type {
	if t.Kind != schema.Object {
		return t
	}
	key := eval.AnyType
	switch kind := s.Each.Type().Kind; {
	case s.Key != nil, kind == schema.Map, kind == schema.Object:
		key = eval.StringType
	case kind == schema.List, kind == schema.Set:
		key = eval.IntegerType
	}
	return schema.ObjectOf(append([]*schema.Member{{Name: "key", Type: key}}, t.Members...)...)
}

// typeWithError returns the type of a result that may be replaced by an error.
func typeWithError(t *schema.Type) *schema.Type {
	if t.Kind != schema.Object {
		return eval.AnyType
	}
	members := []*schema.Member{{Name: "error", Type: errorType, Optional: true}}
	for _, m := range t.Members {
		c := *m
		c.Optional = true
		members = append(members, &c)
	}
	return schema.ObjectOf(members...)
}

// nonNullAfter adds the paths that the expects of a step prove not null, if the step always runs.
func nonNullAfter(s *Step, known *eval.NonNull) *eval.NonNull {
	if s.When != nil || s.Each != nil || s.ContinueOnError {
		return known
	}
	for _, e := range s.Expects {
		for _, path := range e.That.NonNullWhenTrue() {
			if rest, ok := strings.CutPrefix(path, "output."); ok {
				path = "step." + s.Name + "." + rest
			}
			known = known.Add([]string{path})
		}
	}
	return known
}
