package hcl

import (
	"strings"
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
)

// Step is one step of a tool.
type Step struct {
	Name     string // empty for the only backend of its work
	When     *Condition
	Each     *Expr
	Parallel int  // how many elements of Each are worked on at once; at least 1
	Continue bool // on_error = "continue"
	Repeat   *Repeat
	Backend  *Backend
	Expects  []*Check
	Range    Range
}

// Repeat asks a backend again until a condition holds.
type Repeat struct {
	Until *Condition
	Every time.Duration
	Max   int
}

// does decodes the one backend, or the steps in written order.
func (w *workDecl) does() {
	var backends, steps []*hclsyntax.Block
	for _, b := range w.block.Body.Blocks {
		if w.dec.shared.isBackend(b.Type) {
			backends = append(backends, b)
		}
		if b.Type == "step" {
			steps = append(steps, b)
		}
		if isAct(b.Type) {
			w.dec.errorf(b.DefRange(), "Block outside a step", "%s stands in a step: step \"name\" { %s … }.", b.Type, b.Type)
		}
	}
	for _, b := range backends {
		if b.Type == "tool" && !w.alone {
			w.dec.errorf(b.DefRange(), "Tool outside a step", "Another tool is called in a step: step \"name\" { tool \"other\" { … } }.")
		}
	}
	switch {
	case len(steps) > 0:
		if len(backends) > 0 {
			w.dec.errorf(backends[0].DefRange(), "Backend beside steps", "%s has one backend or steps. Put this %s block into a step of its own.", sentence(article(w.noun)), backends[0].Type)
		}
		w.dec.scope = w.dec.scope.without("output", "This "+w.noun+" has steps, and each has an output of its own. Read it as step.<name>.")
		w.stepsAhead(steps)
		for _, b := range steps {
			w.step(b)
		}
	case len(backends) > 0:
		for _, extra := range backends[1:] {
			more := " Several become steps: step \"name\" { " + extra.Type + " … }."
			if w.alone {
				more = ""
			}
			w.dec.errorf(extra.DefRange(), "Two backends", "%s has one backend, and this is another.%s", sentence(article(w.noun)), more)
		}
		w.single(backends[0])
	default:
		w.pure()
	}
}

// single decodes the only backend, whose output is read as output.
func (w *workDecl) single(b *hclsyntax.Block) {
	s := &Step{Parallel: 1, Range: at(b.DefRange())}
	s.Backend = w.backend(b)
	w.work.Steps = []*Step{s}
	w.dec.scope = w.dec.scope.with("output", outputRoot(s.Backend.Facts.Output))
	w.dec.fields(w.block.Body, expectSpec(&s.Expects), w.block.DefRange())
}

// pure is work that only computes.
func (w *workDecl) pure() {
	for _, nested := range w.block.Body.Blocks {
		if nested.Type == "expect" {
			w.dec.errorf(nested.DefRange(), "Nothing to expect", "expect asks about the answer of a backend, and this %s has none. A check asks about the %ss.", w.noun, w.inputs.noun)
		}
	}
	if w.dec.diags.HasErrors() {
		w.dec.scope = w.dec.scope.with("output", outputRoot(anyType)) // what is wrong may be the backend
	}
}

func (s *Step) guardSpec() Spec {
	return Spec{Attr(&s.When, "when", "The step is skipped when this is false; with each it is asked for every element.")}
}

func (s *Step) eachSpec() Spec {
	return Spec{
		Attr(&s.Each, "each", "A list or map: the step is done for every element, and step.<name> is the list or map of results.").AllowFile(),
		Attr(&s.Parallel, "parallel", "How many elements are worked on at once.").Or("1"),
		either(&s.Continue, "on_error", `"fail" ends the call; "continue" goes on and leaves step.<name>.error.message.`, "fail", "continue").Or("fail"),
	}
}

func (s *Step) repeatSpec() Spec {
	return Spec{Block(&s.Repeat, "repeat", "Asks the backend again until a condition holds, within the timeout of the tool.", (*Repeat).spec)}
}

func (r *Repeat) spec() Spec {
	return Spec{
		Attr(&r.Until, "until", "When this is true the answer is taken.").Require(),
		Attr(&r.Every, "every", "How long to wait between two tries.").Or("1s"),
		Attr(&r.Max, "max", "How often to ask at most.").Or("as often as the timeout allows"),
	}
}

// step decodes one step block.
func (w *workDecl) step(b *hclsyntax.Block) {
	d := w.dec
	if len(b.Labels) != 1 {
		d.errorf(b.TypeRange, "Wrong number of labels", "A step block is written `step \"name\" {`.")
		return
	}
	s := &Step{Name: b.Labels[0], Range: at(b.DefRange())}
	w.placed(s, b)
	each, guard, answer := s.eachSpec(), s.guardSpec(), Join(s.repeatSpec(), expectSpec(&s.Expects))
	d.unknown(b.Body, each, guard, answer, d.shared.standing.backends, d.shared.standing.acts)

	around, known := d.scope, d.facts
	d.scope = d.scope.without("output", "output is the answer of the backend, and there is none yet here. It can be read in the step's expect and repeat.")
	d.fields(b.Body, each, b.DefRange())
	if s.Each != nil {
		key, elem := d.eachTypes(s.Each)
		d.scope = d.scope.with("each", eachRoot(key, elem))
	}
	d.fields(b.Body, guard, b.DefRange())
	d.facts = known.and(s.When)
	s.Backend = w.onlyBackend(b)
	d.scope = d.scope.with("output", outputRoot(s.Backend.Facts.Output))
	d.fields(b.Body, answer, b.DefRange())
	d.scope, d.facts = around, known

	s.Parallel = max(s.Parallel, 1)
	if s.Repeat != nil && s.Repeat.Every == 0 {
		s.Repeat.Every = time.Second
	}
	w.work.Steps = append(w.work.Steps, s)
	d.facts = d.facts.expected(s)
	w.done(s)
}

// placed reports a step that has a name of another, or that no call comes to.
func (w *workDecl) placed(s *Step, b *hclsyntax.Block) {
	d := w.dec
	if !hclsyntax.ValidIdentifier(s.Name) {
		d.diags = append(d.diags, invalidName("step", s.Name, b.LabelRanges[0]))
	}
	if w.results[s.Name] != nil {
		d.errorf(b.LabelRanges[0], "Duplicate step", "There is already a step %q in this %s.", s.Name, w.noun)
	}
	if w.over != "" {
		d.errorf(b.DefRange(), "Step is never done", "The step %q ends every call before this one. Give it a `when`, or put it last.", w.over)
	}
}

// done makes what a step leaves readable for what follows.
func (w *workDecl) done(s *Step) {
	if s.Backend.ends() {
		w.dec.facts = w.dec.facts.unless(s.When)
		if s.When == nil {
			w.over = s.Name
		}
	}
	w.results[s.Name] = w.stepResult(s)
	members := make(map[string]*member, len(w.results))
	for name, m := range w.results {
		if m.typ.Kind != schema.Null {
			members[name] = m
		}
	}
	if !s.Backend.gives() {
		w.later[s.Name] = "The step \"" + s.Name + "\" has no result: a " + s.Backend.Kind + " block gives none."
	}
	w.dec.scope = w.dec.scope.with("step", stepRoot(members, w.later))
}

// stepsAhead notes the steps of a tool, so that reading one too early can be told from reading none.
func (w *workDecl) stepsAhead(steps []*hclsyntax.Block) {
	w.later = map[string]string{}
	for _, b := range steps {
		if len(b.Labels) == 1 {
			w.later[b.Labels[0]] = "The step \"" + b.Labels[0] + "\" is done after this place: steps run in written order."
		}
	}
	w.dec.scope = w.dec.scope.with("step", stepRoot(nil, w.later))
}

func (w *workDecl) onlyBackend(b *hclsyntax.Block) *Backend {
	var found, asks []*hclsyntax.Block
	for _, nested := range b.Body.Blocks {
		switch {
		case nested.Type == "ask":
			asks = append(asks, nested)
		case w.dec.shared.isBackend(nested.Type), isAct(nested.Type):
			found = append(found, nested)
		}
	}
	if len(asks) > 0 {
		for _, extra := range found {
			w.dec.errorf(extra.DefRange(), "Two backends", "A step that asks does nothing else. Put this %s block into a step of its own.", extra.Type)
		}
		w.fitting(b, "ask", besideAsk)
		return w.round(b, asks)
	}
	if len(found) == 0 {
		if !w.strange(b) {
			w.dec.errorf(b.DefRange(), "Missing backend", "A step has one backend (%s), or one or more ask, or one of %s.", strings.Join(append(w.dec.shared.backendNames(), "tool"), ", "), oneOf(actNames()))
		}
		return &Backend{Facts: Facts{Output: anyType}, Range: at(b.DefRange())}
	}
	for _, extra := range found[1:] {
		w.dec.errorf(extra.DefRange(), "Two backends", "A step has one backend. Put this %s block into a step of its own.", extra.Type)
	}
	if a, own := actNamed(found[0].Type); own {
		w.fitting(b, a.Name, a.beside)
	}
	return w.backend(found[0])
}

// strange reports whether a step holds a block that it does not know, which may be its backend.
func (w *workDecl) strange(b *hclsyntax.Block) bool {
	for _, nested := range b.Body.Blocks {
		if nested.Type != "repeat" && nested.Type != "expect" {
			return true
		}
	}
	return false
}

// stepResult is what step.<name> is afterwards.
func (w *workDecl) stepResult(s *Step) *member {
	out := s.Backend.Facts.Output
	if !s.Backend.gives() {
		return stepMember(s.Name, out, "")
	}
	if s.Continue {
		out = withError(out)
	}
	why := ""
	if s.When != nil {
		why = "step." + s.Name + " is null when its `when` is false"
	}
	if s.Each == nil {
		return stepMember(s.Name, out, why)
	}
	if s.When != nil {
		out = out.AsNullable()
	}
	switch s.Each.Type().Kind {
	case schema.Map, schema.Object:
		return stepMember(s.Name, &schema.Type{Kind: schema.Map, Elem: out}, "")
	case schema.List, schema.Set:
		return stepMember(s.Name, schema.ListOf(out), "")
	}
	return stepMember(s.Name, anyType, "")
}

// withError is the type of a result that may be a failure instead.
func withError(t *schema.Type) *schema.Type {
	if t.Kind != schema.Object {
		return anyType
	}
	members := []*schema.Member{{Name: "error", Type: failureType, Optional: true}}
	for _, m := range t.Members {
		c := *m
		c.Optional = true
		members = append(members, &c)
	}
	return schema.ObjectOf(members...)
}

// eachTypes is the type of each.key and each.value.
func (d *decoder) eachTypes(e *Expr) (key, elem *schema.Type) {
	c := &compiler{scope: d.scope, src: d.file.src}
	key, elem = c.elements(e.node, hclv2.Range{Filename: e.Range.File, Start: hclv2.Pos(e.Range.Start), End: hclv2.Pos(e.Range.End)})
	d.diags = append(d.diags, c.diags...)
	return key, elem
}
