package surface

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/value"
	"hatchel/internal/lazyregexp"
)

// Compare returns how a surface differs from an older one.
func Compare(old, new *Surface) *Diff {
	if old.Earlier > 0 || new.Earlier > 0 {
		return compareEarlier(old, new)
	}
	c := &comparison{
		old: old, new: new, rules: map[ruleChange][]string{}, compared: map[[2]*eval.Formula][2]bool{},
	}
	c.server()
	renamed := c.renames()
	entries(c, "tool", old.Tools, new.Tools, renamed, (*comparison).tool)
	entries(c, "prompt", old.Prompts, new.Prompts, nil, func(c *comparison, at string, a, b *Prompt) {
		c.operation("prompt", at, &a.Operation, &b.Operation)
	})
	entries(c, "resource", old.Resources, new.Resources, nil, (*comparison).resource)
	c.skills()
	c.toolsets()
	c.connections()
	c.settings()
	c.policies()
	c.masks()
	c.access(renamed)
	sortChanges(c.changes)
	return &Diff{Changes: c.changes, Step: step(c.changes), Old: old.Server.Version, New: new.Server.Version}
}

// comparison collects the changes.
type comparison struct {
	old, new *Surface
	object   string
	changes  []Change
	rules    map[ruleChange][]string      // what a change of a policy applies to
	compared map[[2]*eval.Formula][2]bool // whether a rule of a policy is stricter, and weaker, than another one

	answerInputs []string // of the tool that is compared
}

// add adds a change at a place of the newer surface, or of the older one if it is not there.
func (c *comparison) add(class Class, kind, place, format string, args ...any) *Change {
	change := Change{Class: class, Kind: kind, Text: revealHidden(fmt.Sprintf(format, args...))}
	change.Range, change.Removed = c.rangeOf(place)
	change.Object, change.Place = revealHidden(c.object), revealHidden(place)
	c.changes = append(c.changes, change)
	return &c.changes[len(c.changes)-1]
}

// rangeOf returns where a place, or else the nearest one around it, is written: in the older
// configuration if the newer one does not have its object.
func (c *comparison) rangeOf(place string) (r hcl.Range, removed bool) {
	positions := c.new.positions
	if _, ok := positions[c.object]; !ok {
		positions, removed = c.old.positions, true
	}
	for name := place; name != ""; name = name[:max(0, strings.LastIndexByte(name, '.'))] {
		name = strings.TrimRight(name, "[]{}")
		if found, ok := positions[name]; ok {
			return found, removed
		}
	}
	found, ok := positions[c.object]
	return found, ok && removed
}

// entries compares two maps of things with names.
func entries[V any](c *comparison, kind string, old, new map[string]*V, renamed map[string]string,
	compare func(c *comparison, at string, old, new *V),
) {
	taken := map[string]bool{}
	for _, name := range diag.SortedNames(old) {
		c.object = kind + " " + name
		at := c.object
		if kind == "tool" {
			at = name
		}
		after, ok := name, new[name] != nil
		if to := renamed[name]; to != "" {
			after, ok = to, true
			c.object, at = kind+" "+to, to
			c.add(Breaking, kind+"-renamed", at, "renamed %s → %s", name, to)
		}
		if !ok {
			c.add(Breaking, kind+"-removed", at, "%s removed", kind)
			continue
		}
		taken[after] = true
		compare(c, at, old[name], new[after])
	}
	for _, name := range diag.SortedNames(new) {
		if !taken[name] {
			c.object = kind + " " + name
			at := c.object
			if kind == "tool" {
				at = name
			}
			c.add(Widening, kind+"-added", at, "%s added%s", kind, summary(any(new[name])))
		}
	}
}

// summary returns what a new tool does.
func summary(v any) string {
	t, ok := v.(*Tool)
	if !ok || len(t.Does) == 0 {
		return ""
	}
	return ": " + strings.Join(t.Does, "; ")
}

// renames returns removed tools that are among the added ones under another name: they do the same, and
// at least four fifths of their inputs are the same.
func (c *comparison) renames() map[string]string {
	renamed, taken := map[string]string{}, map[string]bool{}
	added := map[string][]string{} // by what they do
	for _, to := range diag.SortedNames(c.new.Tools) {
		if b := c.new.Tools[to]; c.old.Tools[to] == nil && len(b.Does) > 0 {
			does := string(canonical(b.Does))
			added[does] = append(added[does], to)
		}
	}
	for _, from := range diag.SortedNames(c.old.Tools) {
		a := c.old.Tools[from]
		if c.new.Tools[from] != nil {
			continue
		}
		for _, to := range added[string(canonical(a.Does))] {
			if !taken[to] && similar(a, c.new.Tools[to]) {
				renamed[from], taken[to] = to, true
				break
			}
		}
	}
	return renamed
}

// similar reports whether at least four fifths of the inputs of two tools are the same.
func similar(a, b *Tool) bool {
	from, _ := schemaOf(a.Input)["properties"].(map[string]any)
	to, _ := schemaOf(b.Input)["properties"].(map[string]any)
	same, all := 0, len(to)
	for name, schema := range from {
		if to[name] == nil {
			all++
		} else if value.Equal(schema, to[name]) &&
			isRequired(schemaOf(a.Input), name) == isRequired(schemaOf(b.Input), name) {
			same++
		}
	}
	return same*5 >= all*4
}

func (c *comparison) tool(at string, a, b *Tool) {
	if a.Digest == b.Digest && slices.Equal(a.May.Policies, b.May.Policies) {
		c.policyRules("tool", at, &a.May, &b.May)
		return
	}
	c.answerInputs = answerInputs(a, b)
	c.operation("tool", at, &a.Operation, &b.Operation)
	c.answerInputs = nil
	c.answer(at, &a.Answer, &b.Answer)
	c.maskedMembers(at, a.Masked, b.Masked)
	c.flag(at, "read_only", a.Annotations.ReadOnly, b.Annotations.ReadOnly, false)
	c.flag(at, "destructive", a.Annotations.Destructive, b.Annotations.Destructive, true)
	c.flag(at, "open_world", a.Annotations.OpenWorld, b.Annotations.OpenWorld, true)
	c.flag(at, "idempotent", a.Annotations.Idempotent, b.Annotations.Idempotent, false)
	switch {
	case a.Output == nil && b.Output != nil:
		c.add(Compatible, "output-added", at+".returns", "returns added")
	case a.Output != nil && b.Output == nil:
		c.add(Breaking, "output-removed", at+".returns", "returns removed")
	case a.Output != nil:
		compareSchemas(a.Output, b.Output, true, func(path string, class Class, kind, text string) {
			c.add(class, kind, at+".returns"+path, "%s", text)
		})
	}
}

// flag compares an annotation. Wide is the value with which a tool may do more.
func (c *comparison) flag(at, name string, a, b, wide bool) {
	class := Behaviour
	if b == wide {
		class = Widening
	}
	if a != b {
		c.add(class, "annotation", at+"."+name, "%s %t → %t", name, a, b)
	}
}

func (c *comparison) resource(at string, a, b *Resource) {
	if a.URI != b.URI {
		c.add(Breaking, "resource-uri", at+".uri", "%s → %s", a.URI, b.URI)
	}
	if a.MimeType != b.MimeType {
		c.add(Breaking, "resource-type", at+".mime_type", "%s → %s", orAny(a.MimeType), orAny(b.MimeType))
	}
	c.operation("resource", at, &a.Operation, &b.Operation)
}

func orAny(text string) string {
	if text == "" {
		return "any"
	}
	return text
}

// operation compares what tools, prompts, resources and skills share.
func (c *comparison) operation(kind, at string, a, b *Operation) {
	c.text(at+".title", a.Title, b.Title)
	c.text(at+".description", a.Description, b.Description)
	input := "input"
	if kind == "prompt" {
		input = "argument"
	}
	reaches := func(input, kind string) string { return reach(b.Steps, input, kind) }
	compareInputs(a.Input, b.Input, reaches, func(path string, class Class, kind, text string) {
		if !c.isAnswerInput(path) {
			c.add(class, kind, at+"."+input+path, "%s", text)
		}
	})
	if inOrder(a.Order, b.Order) != inOrder(b.Order, a.Order) {
		c.add(Behaviour, "input-order", at, "order of inputs %s → %s", strings.Join(a.Order, ", "),
			strings.Join(b.Order, ", "))
	}
	for _, name := range missing(b.Requires, a.Requires) {
		c.add(Breaking, "requires", at+".requires", "requires added: %s", name)
	}
	for _, name := range missing(a.Requires, b.Requires) {
		c.add(Widening, "requires", at+".requires", "requires removed: %s", name)
	}
	switch {
	case a.Listed && !b.Listed:
		c.add(Breaking, "listed", at+".listed", "no longer listed")
	case !a.Listed && b.Listed:
		c.add(Widening, "listed", at+".listed", "listed")
	}
	c.effects(at, a.Does, b.Does)
	c.secrets(at, a.Reads, b.Reads)
	c.guards(at, a, b, c.steps(at, a, b).settled)
	c.needs(at, a, b)
	c.may(kind, at, &a.May, &b.May)
	for _, name := range diag.SortedNames(union(a.Texts, b.Texts)) {
		_, isNew := b.Texts[name]
		_, isOld := a.Texts[name]
		rule, _, _ := strings.Cut(name, " ")
		if isNew && isOld || rule != "check" && rule != "approval" { // these come and go with their conditions
			c.text(at+"."+name, a.Texts[name], b.Texts[name])
		}
		if name == "text" {
			conditions := func(op *Operation) []string { return conditional.FindAllString(op.Texts[name], -1) }
			for _, part := range missing(conditions(a), conditions(b)) {
				c.add(Widening, "guard", at+".text", "a part of the text no longer depends on %s", part)
			}
		}
	}
}

// conditional matches the beginning of a part that a text contains for some calls only.
var conditional = lazyregexp.New(`%\{if [^}]*\}`)

// inOrder returns the names of a that b has, too, as one text.
func inOrder(a, b []string) string {
	missing := func(name string) bool { return !slices.Contains(b, name) }
	return strings.Join(slices.DeleteFunc(slices.Clone(a), missing), " ")
}

func union(a, b map[string]string) map[string]bool {
	names := map[string]bool{}
	for name := range a {
		names[name] = true
	}
	for name := range b {
		names[name] = true
	}
	return names
}

// missing returns the elements of a that b does not have.
func missing(a, b []string) (out []string) {
	if slices.Equal(a, b) {
		return nil
	}
	has := make(map[string]bool, len(b))
	for _, x := range b {
		has[x] = true
	}
	for _, x := range a {
		if !has[x] {
			out = append(out, x)
		}
	}
	return out
}

func (c *comparison) text(at, old, new string) {
	if old != new {
		c.add(Behaviour, "text", at, "%s", wordDiff(old, new))
	}
}

// namedVerbs begin lines that have the name of a value.
var namedVerbs = []string{"BODY", "HEADER", "QUERY", "ENV", "SANDBOX"}

// reachesLess reports whether a line of effects is one that lists what may be reached, and has only words of another
// one; or opens the same database for reading.
func reachesLess(old, new string) bool {
	verb, _, _ := strings.Cut(new, " ")
	switch verb {
	case "SANDBOX", "INHERIT":
		return len(missing(strings.Fields(new), strings.Fields(old))) == 0
	case "SEND":
		return sendsLess(old, new)
	case "OPEN":
		return strings.TrimSuffix(new, " ro") == strings.TrimSuffix(old, " rw")
	}
	return false
}

// effects compares what something does. What it does no longer is shown with what it does instead.
func (c *comparison) effects(at string, old, new []string) {
	gained, lost := missing(effectsOnly(new), effectsOnly(old)), missing(effectsOnly(old), effectsOnly(new))
	for _, line := range gained {
		verb, _, _ := strings.Cut(line, " ")
		prefix := verb + " "
		if slices.Contains(namedVerbs, verb) {
			name, _, _ := strings.Cut(line[len(prefix):], " ")
			prefix += name + " "
		}
		same := func(other string) bool { return strings.HasPrefix(other, prefix) }
		kind := "does"
		if verb == "HOST" || verb == "OPEN" {
			kind = "host"
		}
		i := slices.IndexFunc(lost, func(was string) bool { return same(was) && reachesLess(was, line) })
		if i < 0 {
			i = slices.IndexFunc(lost, same)
		}
		if i >= 0 {
			c.effect(classIf(!reachesLess(lost[i], line)), kind, at, line, "%s → %s", lost[i], line)
			lost = slices.Delete(lost, i, i+1)
			continue
		}
		c.effect(Widening, kind, at, line, "does %s", line)
	}
	for _, line := range lost {
		c.effect(Behaviour, "does", at, line, "no longer does %s", line)
	}
}

// decidingVerbs begin lines that say what a step does in full, and when. Steps are compared, not these lines.
// The identity of a connection is compared by its arguments.
var decidingVerbs = []string{"SQL", "WHEN", "EACH", "ON_ERROR", "UNTIL", "EXPECT", "INSTANCE", "ROLE", "SESSION"}

// effectsOnly returns the lines of effects.
func effectsOnly(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		verb, _, _ := strings.Cut(line, " ")
		return slices.Contains(decidingVerbs, strings.TrimSuffix(verb, ":"))
	})
}

// effect adds a change of what something does, at the block that does it.
func (c *comparison) effect(class Class, kind, at, line, format string, args ...any) {
	change := c.add(class, kind, at+".does", format, args...)
	if r, ok := c.new.positions[at+".does "+line]; ok {
		change.Range, change.Removed = r, false
	}
}

func (c *comparison) secrets(at string, old, new []string) {
	for _, line := range missing(new, old) {
		c.add(Widening, "secret", at, "%s goes to a new place", line)
	}
	for _, line := range missing(old, new) {
		c.add(Compatible, "secret", at, "%s no longer", line)
	}
}
