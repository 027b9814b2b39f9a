package surface

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/internal/lazyregexp"
)

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

// paces are arguments that say how long something may take, how it is paced, or how what was read is written: they
// reach nothing.
var paces = []string{
	"timeout", "connect_timeout", "busy_timeout", "max_idle_time", "max_connections", "max_readers",
	"backoff", "trace", "cooldown", "window", "failures", "decimals", "integers", "encoding",
}

// bounds are arguments of which a lower value does less.
var bounds = []string{
	"max_rows", "max_body", "max_output", "max_pages", "max_size", "attempts", "redirects", "memory", "cpu",
	"cpu_share", "open_files", "file_size", "processes", "concurrency", "rate",
}

func lastName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

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

// passesOnNewInput reports whether a value is an optional input that was added, and nothing else: without it the call
// is the same as before.
func (s *stepsComparison) passesOnNewInput(form string) bool {
	return slices.ContainsFunc(s.newInputs, func(name string) bool { return form == "input"+memberStep(name) })
}

// answering are the arguments of an operation beside its steps that reach nothing: they make the answer of what was
// done.
var answering = []string{
	"result", "result_meta", "text", "content", "error", "returns", "timeout", "icons", "meta", "task", "refresh",
	"size", "data", "format",
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

// isViewCall reports whether a path names the tool that a view calls.
func isViewCall(path string) bool { return lastName(path) == "open" || lastName(path) == "calls" }

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
		if top == "view" {
			class = classIf(old[path] != new[path] && new[path] != "" && isViewCall(path))
		}
		s.add(class, "steps", s.at+"."+path, "%s", changeOf(path, old, new))
	}
}
