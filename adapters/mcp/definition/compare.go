package definition

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl/schema"
	"hatchel/hcl/surface"
	"hatchel/hcl/value"
	"hatchel/internal/printable"
)

// Change is one difference between a pinned definition and the one that a server sends today.
type Change struct {
	// Member is the member of the definition: title, description, inputSchema, outputSchema, annotations or
	// execution.
	Member string

	// Text says what changed, for who operates the server: `description`, `input "assignee" added`. It has no text of
	// the server but names and short values, with hidden characters made visible.
	Text string

	// Compatible says that on_drift = "compatible" serves the tool all the same, as far as this change goes.
	Compatible bool
}

// Compare returns the differences of a definition that a server sent from the pinned one, in the order of the file's
// members; none if they are equal. Sent has the types of the arguments that blocks can send, one for each block that
// calls the tool: what the server's new schema accepts is judged by them.
func Compare(pin, found Definition, sent []*schema.Type) (changes []Change) {
	if pin.Equal(found) {
		return nil
	}
	was, is := pin.members(), found.members()
	for i, m := range was {
		if m.text == is[i].text {
			continue
		}
		switch m.name {
		case "inputSchema":
			changes = append(changes, compareInputs(pin, found, sent)...)
		case "outputSchema":
			changes = append(changes, compareOutputs(pin, found)...)
		case "annotations":
			changes = append(changes, compareAnnotations(pin, found)...)
		case "execution":
			changes = append(changes, Change{m.name, "task support " + orNone(pin.TaskSupport) + " → " +
				orNone(found.TaskSupport), found.TaskSupport != "required"})
		default:
			changes = append(changes, Change{m.name, m.name, m.name != "name"})
		}
	}
	return changes
}

// maxChanges is how many changes of a definition are named.
const maxChanges = 20

// Texts returns the texts of changes. Those beyond the first 20 are counted.
func Texts(changes []Change) (texts []string) {
	for _, c := range changes[:min(len(changes), maxChanges)] {
		texts = append(texts, c.Text)
	}
	if more := len(changes) - maxChanges; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more changes", more))
	}
	return texts
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// inputDiff judges the differences of two input schemas by what blocks send.
type inputDiff struct {
	sent     []*schema.Type
	names    []string // of the arguments of both schemas
	required []string // by the new schema, and not by the pinned one
	provenOK bool     // the new schema accepts everything that blocks can send
}

func compareInputs(pin, found Definition, sent []*schema.Type) (changes []Change) {
	old, new := decoded(pin.InputSchema), decoded(found.InputSchema)
	d := inputDiff{sent: sent, names: append(properties(old), properties(new)...),
		provenOK: len(sent) > 0 && sameDraft(old, new)}
	for _, name := range required(new) {
		if !slices.Contains(required(old), name) {
			d.required = append(d.required, name)
		}
	}
	for _, t := range sent {
		d.provenOK = d.provenOK && acceptsAll(new, t)
	}
	for _, one := range surface.Differences(old, new, false) {
		changes = append(changes, Change{"inputSchema", describe("input", one), d.isCompatible(one)})
	}
	if len(changes) == 0 {
		changes = []Change{{"inputSchema", "inputSchema", sameDraft(old, new)}}
	}
	return changes
}

func sameDraft(old, new any) bool {
	a, _ := old.(map[string]any)
	b, _ := new.(map[string]any)
	return value.Equal(a["$schema"], b["$schema"])
}

// required returns the names of the members that a schema requires.
func required(v any) (names []string) {
	m, _ := v.(map[string]any)
	list, _ := m["required"].([]any)
	for _, one := range list {
		if name, ok := one.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// acceptsAll reports whether it is proved that a schema accepts every value of a type.
func acceptsAll(into any, t *schema.Type) bool {
	from, err := value.Decode(t.AppendReviewSchema(nil))
	return err == nil && !slices.ContainsFunc(surface.Differences(from, into, false),
		func(d surface.Difference) bool { return d.Narrowed })
}

// isCompatible reports whether calls have the same meaning after a difference.
func (d *inputDiff) isCompatible(one surface.Difference) bool {
	name := d.argument(one.Path)
	switch {
	case one.Kind == "text":
		return true
	case one.Kind == "default":
		return name != "" && d.isAlwaysSent(name)
	case slices.Contains(d.required, name) && !d.isAlwaysSent(name):
		return false
	}
	return !one.Narrowed || d.provenOK || name != "" && !d.isSent(name)
}

// argument returns the argument that a path begins with; "" for all of them, and if several may be meant, because names
// have the characters of paths.
func (d *inputDiff) argument(path string) (name string) {
	for _, one := range d.names {
		rest, ok := strings.CutPrefix(path, "."+one)
		if !ok || rest != "" && !strings.ContainsAny(rest[:1], ".[{") || one == name {
			continue
		}
		if name != "" {
			return ""
		}
		name = one
	}
	return name
}

// properties returns the names of the members that a schema declares.
func properties(v any) []string {
	m, _ := v.(map[string]any)
	all, _ := m["properties"].(map[string]any)
	return value.Keys(all)
}

// isAlwaysSent reports whether every call has an argument.
func (d *inputDiff) isAlwaysSent(name string) bool {
	return len(d.sent) > 0 && !slices.ContainsFunc(d.sent, func(t *schema.Type) bool {
		m, ok := t.Lookup(name)
		return !ok || m.Optional
	})
}

// isSent reports whether a call may have an argument.
func (d *inputDiff) isSent(name string) bool {
	return len(d.sent) == 0 || slices.ContainsFunc(d.sent, func(t *schema.Type) bool {
		_, ok := t.Lookup(name)
		return ok || t.Open || t.Kind != schema.Object
	})
}

func compareOutputs(pin, found Definition) (changes []Change) {
	switch {
	case pin.OutputSchema == "":
		return []Change{{"outputSchema", "outputSchema added", true}}
	case found.OutputSchema == "":
		return []Change{{"outputSchema", "outputSchema removed", false}}
	}
	old, new := decoded(pin.OutputSchema), decoded(found.OutputSchema)
	for _, one := range surface.Differences(old, new, true) {
		changes = append(changes, Change{"outputSchema", describe("result", one), !one.Relaxed})
	}
	if len(changes) == 0 {
		changes = []Change{{"outputSchema", "outputSchema", sameDraft(old, new)}}
	}
	return changes
}

// describe returns a difference in words. Noun is input or result.
func describe(noun string, one surface.Difference) string {
	path, member := one.Path, ""
	if one.Kind == "text" {
		i := strings.LastIndexByte(path, '.')
		path, member = path[:i], path[i+1:]
	}
	subject := noun
	if path != "" {
		subject += " " + string(value.AppendCanonicalString(nil, printable.Reveal(strings.TrimPrefix(path, "."), "")))
	}
	switch one.Kind {
	case "text":
		return printable.Reveal(member, "") + " of " + subject
	case "added", "removed":
		if one.Text == "required input added" {
			return subject + " added, which is required"
		}
		return subject + " " + one.Kind
	}
	return subject + ": " + one.Text
}

// saferHints are the values of hints that promise more. What a server does not say is the other one.
var saferHints = map[string]bool{readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false}

func compareAnnotations(pin, found Definition) (changes []Change) {
	old, new := pin.annotations(), found.annotations()
	names := map[string]any{}
	for name := range old {
		names[name] = nil
	}
	for name := range new {
		names[name] = nil
	}
	for _, name := range value.Keys(names) {
		if value.Equal(old[name], new[name]) && (old[name] != nil) == (new[name] != nil) {
			continue
		}
		safer, isHint := saferHints[name]
		c := Change{Member: "annotations", Text: "annotation " + printable.Reveal(name, "")}
		switch {
		case name == "title":
			c.Compatible = true
		case isHint:
			c.Text += ": " + hintText(old[name]) + " → " + hintText(new[name])
			c.Compatible = old[name] != any(safer) || new[name] == any(safer)
		}
		changes = append(changes, c)
	}
	return changes
}

func hintText(v any) string {
	if b, ok := v.(bool); ok {
		return fmt.Sprint(b)
	}
	return "not said"
}
