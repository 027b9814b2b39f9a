package surface

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/internal/lazyregexp"
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

// arguments compares the arguments of a step.
func (s *stepsComparison) arguments(a, b *Step, gates bool) {
	shown, lost := s.shown(b), doesMore(b.Does, a.Does) // these are reported with the effects
	reported := s.types(a, b, gates)
	for _, path := range changedArguments(a.Args, b.Args) {
		top, _, _ := strings.Cut(path, ".")
		if slices.Contains(reported, path) {
			continue
		}
		if name := lastName(path); top == "step" && (name == "that" || name == "until") {
			if _, was := a.Args[path]; !was && conjunction(a.Expect).Equal(conjunction(b.Expect)) {
				text := strings.TrimSuffix(strings.TrimPrefix(path, "step."), ".that")
				s.report(Behaviour, b, "another text: %s", text)
			}
			continue // they are compared as conditions
		}
		if shown && len(b.traits.Statements) == 0 && slices.Contains(shownArguments, top) ||
			lost && top == "sandbox" && grantsLess(a.Args[path], b.Args[path]) {
			continue
		}
		s.argument(b, path, a.Args, b.Args, gates)
	}
}

// types compares the types that both sides have, such as that of a form, and returns the paths of those that it has
// reported. No caller is refused by them, so a narrower one is no breaking change.
func (s *stepsComparison) types(a, b *Step, gates bool) (reported []string) {
	reaches := func(string, string) string {
		if gates {
			return itsReaders
		}
		return ""
	}
	for _, path := range diag.SortedNames(b.Types) {
		old, had := a.Types[path]
		if !had {
			continue
		}
		compareInputs(old, b.Types[path], reaches, func(field string, class Class, _, text string) {
			s.report(classIf(class == Widening), b, "%s%s: %s", path, field, text)
			reported = append(reported, path)
		})
	}
	return reported
}

// itsReaders are what the values of a variable or a form reach.
const itsReaders = "its readers"

// doesMore reports whether there is a line of effects that was not there before.
func doesMore(old, new []string) bool { return len(missing(effectsOnly(new), effectsOnly(old))) > 0 }

// shown reports whether what a step does is reported with the effects: no step of the operation did so before.
func (s *stepsComparison) shown(step *Step) bool { return doesMore(s.does(s.before), step.Does) }

// changedArguments returns the paths whose arguments differ, or are on one side only, sorted.
func changedArguments(old, new map[string]string) (paths []string) {
	for _, path := range diag.SortedNames(union(old, new)) {
		a, was := old[path]
		b, is := new[path]
		if a != b || was != is {
			paths = append(paths, path)
		}
	}
	return paths
}

// changeOf returns how an argument changed.
func changeOf(path string, old, new map[string]string) string {
	shown := func(args map[string]string) string {
		form, ok := args[path]
		switch {
		case !ok:
			return "none"
		case form == "":
			return "{}"
		}
		name := withoutDigest(form)
		return clip(name, maxShown) + form[len(name):]
	}
	return path + " " + shown(old) + " → " + shown(new)
}

// shownArguments are the arguments whose values are in the lines of effects.
var shownArguments = []string{
	"get", "head", "post", "put", "patch", "delete", "query", "headers", "json", "form", "multipart", "body",
	"command", "pipe", "script", "script_file", "stdin", "env", "dir", "inherit_env", "sandbox", "directory",
	"read", "write", "file", "if_exists",
}

// argument compares one argument of a step.
func (s *stepsComparison) argument(b *Step, path string, before, after map[string]string, gates bool) {
	top, _, _ := strings.Cut(path, ".")
	old, new := before[path], after[path]
	change := changeOf(path, before, after)
	switch {
	case slices.Contains(b.traits.Statements, top) && old != "" && new != "":
		s.statement(b, path, old, new, s.shown(b))
	case old == "" && b.traits.Request && s.passesOnNewInput(new) && (!gates || top == "query" && after["post"] != ""):
	case b.Kind == "ask" && isText(path):
		s.report(Behaviour, b, "%s", change)
	case slices.Contains(paces, lastName(path)) || lastName(path) == "mode" && new == `"ro"`:
		s.report(Behaviour, b, "%s", change)
	case isPartOf(path, "retry"):
		conn := s.new.Connections[b.Connection]
		inherited := conn != nil && !retriesLess(before, conn.Args, false)
		s.report(classIf(!retriesLess(before, after, inherited)), b, "%s", change)
	case slices.Contains(bounds, lastName(path)):
		was, is := s.without(s.old, b, path, old), s.without(s.new, b, path, new)
		s.report(classIf(!isLowerBound(lastName(path), was, is)), b, "%s", change)
	case strings.HasPrefix(path, "sandbox.") && grantsLess(old, new):
		s.report(Behaviour, b, "%s", change)
	case gates || strings.HasPrefix(path, "sandbox.") || slices.Contains([]string{"hosts", "statement"}, top):
		s.report(Widening, b, "%s", change)
	case s.readCaller(firstLine(b), top):
		s.report(Widening, b, "depends on the caller in another way: %s", change)
	case new == "" && (top == "query" || top == "headers") && isConstant(old):
		s.report(Widening, b, "no longer sends %s %s", path, clip(old, maxShown))
	default:
		s.report(Behaviour, b, "%s", change)
	}
}

// isText reports whether only a text for people differs: the message of a question.
func isText(path string) bool { return slices.Contains([]string{"message", "title"}, lastName(path)) }

// readCaller reports whether an argument has read the caller, as the Guards of the older side say. Around is the first
// line of the block that has it.
func (s *stepsComparison) readCaller(around, argument string) bool {
	return slices.ContainsFunc(s.guards, func(line string) bool {
		return strings.HasPrefix(line, around+argument+" reads ")
	})
}

// firstLine returns what begins the Guards of a step.
func firstLine(step *Step) string {
	line := strings.TrimSpace(step.Kind+" "+connectionName(step)) + ": "
	if step.Name != "" {
		line = "step " + step.Name + ": " + line
	}
	return line
}

// isConstant reports whether a normal form is a text or a number that an author wrote.
func isConstant(form string) bool {
	_, ok := constantValues(form)
	return ok
}

// paces are arguments that say how long something may take, or how it is paced: they reach nothing.
var paces = []string{
	"timeout", "connect_timeout", "busy_timeout", "max_idle_time", "max_connections", "max_readers",
	"backoff", "trace", "cooldown", "window", "failures", "decimals",
}

// bounds are arguments of which a lower value does less.
var bounds = []string{
	"max_rows", "max_body", "max_output", "max_pages", "max_size", "attempts", "redirects", "memory", "cpu",
	"open_files", "file_size", "processes", "concurrency", "rate",
}

func lastName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// statement compares statements of SQL.
func (s *stepsComparison) statement(b *Step, path, old, new string, shown bool) {
	c := compareStatementLists(formsOf(old), formsOf(new))
	switch {
	case shown && slices.Equal(c.wider, []string{otherStatement}): // it is reported with the effects
	case s.decides(b) && !b.acts() && c.filters: // fewer rows may be what lets a later step run
		s.report(Widening, b, "%s %s", path, wordDiff(old, new))
	case len(c.wider) > 0:
		s.report(Widening, b, "%s %s: %s", path, strings.Join(c.wider, ", "), wordDiff(old, new))
	default:
		s.report(Behaviour, b, "%s %s", path, wordDiff(old, new))
	}
}

// compareStatementLists compares the statements of one argument. Each of them is compared with the one at its place.
func compareStatementLists(old, new []string) (all statementChange) {
	if len(old) != len(new) {
		return statementChange{wider: []string{otherStatement}}
	}
	for i := range old {
		c := compareStatements(unquoteForm(old[i]), unquoteForm(new[i]))
		all.wider, all.filters = append(all.wider, c.wider...), all.filters || c.filters
	}
	return all
}

// formsOf returns the normal forms of the elements of a list; the form itself if it is none.
func formsOf(form string) (elements []string) {
	inner, isList := strings.CutPrefix(form, "[")
	inner, ends := strings.CutSuffix(inner, "]")
	if !isList || !ends {
		return []string{form}
	}
	depth, quoted, start := 0, false, 0
	for i := 0; i < len(inner); i++ {
		switch ch := inner[i]; {
		case ch == '\\':
			i++
		case ch == '"' && depth == 0:
			quoted = !quoted
		case strings.HasPrefix(inner[i:], "${"):
			if end := endOfValue(inner, i); end > 0 {
				i = end - 1
			}
		case quoted:
		case strings.IndexByte("([{", ch) >= 0:
			depth++
		case strings.IndexByte(")]}", ch) >= 0:
			depth--
		case ch == ',' && depth == 0:
			elements, start = append(elements, strings.TrimSpace(inner[start:i])), i+1
		}
	}
	return append(elements, strings.TrimSpace(inner[start:]))
}

// does returns what steps do.
func (s *stepsComparison) does(steps []*Step) (lines []string) {
	for _, step := range steps {
		lines = append(lines, step.Does...)
	}
	return lines
}

// unquoteForm returns the text of a normal form in quotes, with ${…} as it is.
func unquoteForm(form string) string {
	inner, ok := strings.CutPrefix(form, `"`)
	if !ok {
		return form
	}
	inner = strings.TrimSuffix(inner, `"`)
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		switch {
		case strings.HasPrefix(inner[i:], "${"):
			end := endOfValue(inner, i)
			if end < 0 {
				return form
			}
			b.WriteString(inner[i:end])
			i = end - 1
		case inner[i] == '\\' && i+1 < len(inner):
			i++
			switch inner[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case '"', '\\', '/':
				b.WriteByte(inner[i])
			default:
				return form // another character, which has no place between the words
			}
		default:
			b.WriteByte(inner[i])
		}
	}
	return b.String()
}

// isLower reports whether a bound is a smaller number than before, or one where there was none. Without a bound there
// is a default, which is not known here.
func isLower(old, new string) bool {
	a, ok := measure(old)
	b, also := measure(new)
	return ok && also && b <= a
}

// units are the units of sizes and of rates, which are calls an hour.
var units = map[string]float64{
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9,
	"/s": 3600, "/m": 60, "/h": 1, "/d": 1.0 / 24,
}

// measure returns a number, a duration, a size or a rate as it is written; a rate in calls an hour.
func measure(form string) (n float64, ok bool) {
	text := strings.Trim(form, `"`)
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n, true
	}
	if d, err := time.ParseDuration(text); err == nil {
		return float64(d), true
	}
	for unit, factor := range units {
		if number, found := strings.CutSuffix(text, unit); found {
			n, err := strconv.ParseFloat(number, 64)
			return n * factor, err == nil
		}
	}
	return 0, false
}

// grantsLess reports whether a list of a sandbox has only elements that it had before, or a switch is off.
func grantsLess(old, new string) bool {
	before, ok := constantValues(old)
	after, also := constantValues(new)
	switch {
	case new == "" && strings.HasPrefix(old, "["), new == "" && (old == "true" || old == `"none"`), new == "false":
		return true
	}
	return ok && also && strings.HasPrefix(old, "[") && strings.HasPrefix(new, "[") && len(missing(after, before)) == 0
}

// addedInputs returns the optional inputs that only the new schema has.
func addedInputs(old, new any) (names []string) {
	from, _ := schemaOf(old)["properties"].(map[string]any)
	to, _ := schemaOf(new)["properties"].(map[string]any)
	for _, name := range sortedKeys(to) {
		if from[name] == nil && !isRequired(schemaOf(new), name) {
			names = append(names, name)
		}
	}
	return names
}

// passesOnNewInput reports whether a value is an optional input that was added, and nothing else: without it the call
// is the same as before.
func (s *stepsComparison) passesOnNewInput(form string) bool {
	return slices.ContainsFunc(s.newInputs, func(name string) bool { return form == "input"+memberStep(name) })
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

// answering are the arguments of an operation beside its steps that reach nothing: they make the answer of what was
// done.
var answering = []string{
	"result", "text", "content", "error", "returns", "timeout", "icons", "meta", "task", "refresh", "size",
	"data",
}

// repeated matches the number of a block with the same first line as one before it.
var repeated = lazyregexp.New(`#\d+`)

// withoutMoved returns the arguments without those that the other side has in another one of blocks with one first
// line.
func withoutMoved(args, other map[string]string) map[string]string {
	if !slices.ContainsFunc(diag.SortedNames(union(args, other)), repeated.MatchString) {
		return args
	}
	values := map[string]bool{}
	for path, form := range other {
		values[repeated.ReplaceAllString(path, "")+"\x00"+form] = true
	}
	out := map[string]string{}
	for path, form := range args {
		if !values[repeated.ReplaceAllString(path, "")+"\x00"+form] {
			out[path] = form
		}
	}
	return out
}

// isTimeToDecide reports whether a path is the timeout of an approval that was there before.
func (s *stepsComparison) isTimeToDecide(path string) bool {
	block, isTimeout := strings.CutSuffix(path, ".timeout")
	name, number, numbered := strings.Cut(block, "#")
	n := 1
	if numbered {
		n, _ = strconv.Atoi(number)
	}
	return isTimeout && name == "approval" && n <= s.approvals
}

// rest compares the arguments beside the steps.
func (s *stepsComparison) rest(old, new map[string]string) {
	before, after := old, new
	old, new = withoutMoved(before, after), withoutMoved(after, before)
	if len(old) == 0 && len(new) == 0 && !maps.Equal(before, after) {
		s.add(Behaviour, "steps", s.at, "order of blocks")
	}
	for _, path := range changedArguments(old, new) {
		top, _, _ := strings.Cut(strings.ReplaceAll(path, " ", "."), ".")
		class := classIf(s.acts() && !slices.Contains(answering, top) || path == "cache.scope" || path == "cache.key" ||
			s.readCaller("", strings.ReplaceAll(path, ".", ": ")) || s.readCaller("", top))
		if _, was := old[path]; !was && path != "cache.scope" && lastName(path) != "notify" &&
			!s.isTimeToDecide(path) || isHarmlessNumber(path, old[path], new[path]) {
			class = Behaviour
		}
		s.add(class, "steps", s.at+"."+path, "%s", changeOf(path, old, new))
	}
}
