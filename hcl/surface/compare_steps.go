package surface

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hatchel/hcl/eval"
	"hatchel/hcl/value"
)

// A change of a step that may change something, or of what decides whether it runs, is widening unless it is proved
// that the step does no more than before. A step that only reads may read more: other columns, rows and addresses are
// widening, too.

// stepPair is a step on both sides. One of them is nil for a step that was added or removed.
type stepPair struct{ old, new *Step }

// stepsComparison compares the steps of one operation.
type stepsComparison struct {
	*comparison
	at        string
	before    []*Step
	after     []*Step
	newInputs []string // optional inputs that were added
	guards    []string // of the older side
	settled   []string // beginnings of Guards whose conditions are proved stricter
	approvals int      // of the older side
}

// steps compares the steps and the other arguments of an operation.
func (c *comparison) steps(at string, a, b *Operation) *stepsComparison {
	s := &stepsComparison{comparison: c, at: at, before: a.Steps, after: b.Steps}
	s.newInputs, s.guards, s.approvals = addedInputs(a.Input, b.Input), a.Guards, len(a.May.Approval)
	pairs := pairSteps(a.Steps, b.Steps)
	for _, p := range pairs {
		switch {
		case p.new == nil:
			s.removed(p.old)
		case p.old == nil:
			s.added(p.new)
		default:
			s.step(p.old, p.new)
		}
	}
	s.order(pairs)
	s.rest(a.Rest, b.Rest)
	return s
}

// pairSteps pairs the steps of two lists by their names, and then those that only have another name.
func pairSteps(old, new []*Step) (pairs []stepPair) {
	left := slices.Clone(new)
	take := func(same func(*Step) bool) *Step {
		i := slices.IndexFunc(left, same)
		if i < 0 {
			return nil
		}
		found := left[i]
		left = slices.Delete(left, i, i+1)
		return found
	}
	for _, s := range old {
		pairs = append(pairs, stepPair{s, take(func(t *Step) bool { return t.Name == s.Name && t.Kind == s.Kind })})
	}
	for i, p := range pairs {
		if p.new == nil {
			pairs[i].new = take(func(t *Step) bool { return t.Name == p.old.Name || doesTheSame(t, p.old) })
		}
	}
	for _, s := range left {
		pairs = append(pairs, stepPair{nil, s})
	}
	return pairs
}

func doesTheSame(a, b *Step) bool {
	x, y := *a, *b
	x.Name, y.Name = "", ""
	return bytes.Equal(canonical(&x), canonical(&y))
}

// acts reports whether a step may change something, or runs a program, of which nothing is known.
func (s *Step) acts() bool { return s.Writes || s.traits.Program }

// stops reports whether a step ends the call, which keeps the steps after it from running.
func (s *Step) stops() bool { return s.Kind == "fail" || s.Kind == "fault" }

// acts reports whether a step of the operation acts, on either side.
func (s *stepsComparison) acts() bool {
	return slices.ContainsFunc(slices.Concat(s.before, s.after), (*Step).acts)
}

// decides reports whether a step that acts reads what this one returns, also through other steps.
func (s *stepsComparison) decides(step *Step) bool {
	if step.Name == "" {
		return false
	}
	for _, list := range [][]*Step{s.before, s.after} {
		reached := []string{step.Name}
		for _, t := range list {
			if !slices.ContainsFunc(reached, func(name string) bool { return readsOf(t, "step."+name) }) {
				continue
			}
			if t.acts() || t.stops() {
				return true
			}
			reached = append(reached, t.Name)
		}
	}
	return false
}

// readsOf reports whether a step reads a value, a part of it, or all of its root.
func readsOf(s *Step, path string) bool {
	root, _, _ := strings.Cut(path, ".")
	return slices.ContainsFunc(s.Reads, func(read string) bool {
		return read == path || read == root || strings.HasPrefix(read, path+".") || strings.HasPrefix(read, path+"[")
	})
}

// label returns what a step is called in a sentence, and where it is written.
func (s *stepsComparison) label(step *Step) (label, place string) {
	switch {
	case step.Name == "":
		block := strings.TrimSpace(step.Kind + " " + connectionName(step))
		return block, s.at + "." + strings.ReplaceAll(block, " ", ".")
	case strings.Contains(step.Name, " "):
		return step.Name, s.at
	}
	return "step " + step.Name, s.at + ".step." + step.Name
}

func connectionName(step *Step) string {
	_, name, _ := strings.Cut(step.Connection, " ")
	return name
}

func (s *stepsComparison) report(class Class, step *Step, format string, args ...any) {
	label, place := s.label(step)
	s.add(class, "steps", place, "%s: %s", label, fmt.Sprintf(format, args...))
}

// notices are the kinds of steps that decide nothing.
var notices = []string{"log", "progress"}

// removed reports that a step is no longer there. One before a step that acts may have stopped it.
func (s *stepsComparison) removed(step *Step) {
	class, text := Behaviour, "removed"
	if strings.HasPrefix(step.Name, "before ") {
		class, text = Widening, "removed, which an approver has read"
	}
	if !slices.Contains(notices, step.Kind) {
		i := slices.Index(s.before, step)
		for _, later := range s.before[i+1:] {
			if later.acts() && slices.ContainsFunc(s.after, func(t *Step) bool { return t.Name == later.Name }) {
				label, _ := s.label(later)
				class, text = Widening, "removed, which could stop "+label
				break
			}
		}
	}
	if class == Widening || !doesMore(s.does(s.after), step.Does) { // otherwise its effects are reported
		s.report(class, step, "%s", text)
	}
}

// added reports a further step. What it does is reported with the effects, unless another step did so before.
func (s *stepsComparison) added(step *Step) {
	switch {
	case step.acts():
		s.report(Widening, step, "added%s", orEffects(step))
	case !s.shown(step) || s.decides(step):
		s.report(Behaviour, step, "added")
	}
}

func orEffects(step *Step) string {
	if len(step.Does) == 0 {
		return ""
	}
	return ": " + strings.Join(effectsOnly(step.Does), "; ")
}

// order compares the order of the steps that are on both sides.
func (s *stepsComparison) order(pairs []stepPair) {
	var were, are []string
	for _, p := range pairs {
		if p.old != nil && p.new != nil {
			were = append(were, p.new.Name)
		}
	}
	for _, step := range s.after {
		if slices.Contains(were, step.Name) {
			are = append(are, step.Name)
		}
	}
	if slices.Equal(were, are) {
		return
	}
	class := Behaviour
	if s.acts() {
		class = Widening
	}
	s.add(class, "steps", s.at, "order of steps %s → %s", strings.Join(were, ", "), strings.Join(are, ", "))
}

// step compares a step that is on both sides.
func (s *stepsComparison) step(a, b *Step) {
	count := len(s.changes)
	gates := a.acts() || b.acts() || s.decides(b)
	if b.Writes && !a.Writes && !s.shown(b) {
		s.report(Widening, b, "may change something")
	}
	if (a.Kind != b.Kind || a.Connection != b.Connection) && !s.shown(b) {
		s.report(classIf(gates || a.stops()), b, "%s → %s", cmp.Or(a.Connection, a.Kind), cmp.Or(b.Connection, b.Kind))
	}
	s.when(a, b, gates)
	s.expectations(a, b)
	if a.Each != b.Each {
		s.report(classIf(gates), b, "each %s → %s", cmp.Or(a.Each, "none"), cmp.Or(b.Each, "none"))
	}
	if !a.Until.Equal(b.Until) {
		s.report(classIf(gates), b, "until %s → %s", orNothing(a.Until), orNothing(b.Until))
	}
	if a.OnError != b.OnError {
		class := Behaviour
		if b.OnError != "" && s.acts() { // the steps after it run although it failed
			class = Widening
		}
		s.report(class, b, "on_error %s → %s", cmp.Or(a.OnError, "stop"), cmp.Or(b.OnError, "stop"))
	}
	s.arguments(a, b, gates)
	s.upstream(a, b)
	x := *a
	x.Name = b.Name
	sameEffects := !doesMore(a.Does, b.Does) && !doesMore(b.Does, a.Does)
	silent := len(s.changes) == count && maps.Equal(a.Args, b.Args)
	if sameEffects && silent && !bytes.Equal(canonical(&x), canonical(b)) {
		s.report(Behaviour, b, "order of blocks")
	}
}

func classIf(widens bool) Class {
	if widens {
		return Widening
	}
	return Behaviour
}

// when compares in which calls a step runs. A step that fails the call is a guard, and guards less if it runs less.
func (s *stepsComparison) when(a, b *Step, gates bool) {
	if a.When.Equal(b.When) {
		return
	}
	more, less := !implies(b.When, a.When), !implies(a.When, b.When)
	text := fmt.Sprintf("when %s → %s", orNothing(a.When), orNothing(b.When))
	class := Behaviour
	switch {
	case b.stops():
		class = classIf(less)
	case s.decides(b) && !b.acts():
		class = Widening
	case less && s.stopsLater(a, b):
		class, text = Widening, "runs in fewer calls, and could stop the steps after it: "+text
	case more && (gates || len(effectsOnly(b.Does)) > 0):
		class, text = Widening, "runs in more calls: "+text
	}
	s.report(class, b, "%s", text)
	if !more {
		s.settled = append(s.settled, "step "+b.Name+": when ")
	}
}

// stopsLater reports whether a step expects something, and a step that acts comes after it on either side.
func (s *stepsComparison) stopsLater(a, b *Step) bool {
	later := func(list []*Step, step *Step) bool {
		return slices.ContainsFunc(list[slices.Index(list, step)+1:], (*Step).acts)
	}
	return len(a.Expect)+len(b.Expect) > 0 && (later(s.before, a) || later(s.after, b))
}

// expectations compares what a step expects of what it got.
func (s *stepsComparison) expectations(a, b *Step) {
	was, is := conjunction(a.Expect), conjunction(b.Expect)
	if was.Equal(is) {
		return
	}
	lost := slices.DeleteFunc(slices.Clone(a.Expect), func(e *eval.Formula) bool { return implies(is, e) })
	for _, e := range lost {
		s.report(Widening, b, "no longer expects %s", e)
	}
	for _, e := range b.Expect {
		if !implies(was, e) {
			s.report(Behaviour, b, "expects %s", e)
		}
	}
	if len(lost) == 0 {
		s.settled = append(s.settled, "step "+b.Name+": expect: ", "expect: ")
	}
}

// conjunction returns a condition that is true if all are; nil for none.
func conjunction(list []*eval.Formula) *eval.Formula {
	if len(list) == 0 {
		return nil
	}
	return eval.Join(eval.OpAnd, list...)
}

// doesMore reports whether there is a line of effects that was not there before.
func doesMore(old, new []string) bool { return len(missing(effectsOnly(new), effectsOnly(old))) > 0 }

// shown reports whether what a step does is reported with the effects: no step of the operation did so before.
func (s *stepsComparison) shown(step *Step) bool { return doesMore(s.does(s.before), step.Does) }

// does returns what steps do.
func (s *stepsComparison) does(steps []*Step) (lines []string) {
	for _, step := range steps {
		lines = append(lines, step.Does...)
	}
	return lines
}

// addedInputs returns the optional inputs that only the new schema has.
func addedInputs(old, new any) (names []string) {
	from, _ := schemaOf(old)["properties"].(map[string]any)
	to, _ := schemaOf(new)["properties"].(map[string]any)
	for _, name := range value.CanonicalKeys(to) {
		if from[name] == nil && !isRequired(schemaOf(new), name) {
			names = append(names, name)
		}
	}
	return names
}

// reach returns what a looser input of the operation reaches: a step that acts; the address that one reads from,
// unless only a bound is looser; or its limit. It is empty for nothing.
func reach(steps []*Step, input, kind string) string {
	for _, step := range steps {
		if !readsOf(step, "input."+input) {
			continue
		}
		label := strings.TrimSpace(step.Kind + " " + connectionName(step))
		if step.Name != "" {
			label = step.Name
		}
		if step.acts() || kind != "bound" && addressReads(step, input) || limitReads(step, input) {
			return label
		}
	}
	return ""
}

// addressReads reports whether an input is in the part of a step that says what is read.
func addressReads(step *Step, input string) bool {
	name := "input" + memberStep(input)
	for _, path := range []string{"get", "head", "file", "read", "directory", "statement"} {
		if strings.Contains(step.Args[path], name) {
			return true
		}
	}
	return false
}

// limitReads reports whether an input is the limit of a query.
func limitReads(step *Step, input string) bool {
	statement, ok := parseStatement(unquoteForm(step.Args["query"]))
	return ok && strings.Contains(joinWords(statement.limit), "input"+memberStep(input))
}
