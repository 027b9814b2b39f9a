package openapi

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// tree is a schema as a tool has it: without cycles, with short descriptions, and with any for what was cut.
type tree struct {
	*schema
	kind    kind
	text    string
	members []*branch
	elem    *tree
	options []*tree // of one_of
	cut     string  // why the tree is any; empty if it is whole
	named   bool    // the whole component, as every other tool has it
	answer  bool    // of a result
	of      *tree   // of recursionKind: the tree that is meant
	again   bool    // it is another occurrence of that tree, and not within it
	hasFile bool
	ownText bool // the description is that of the input
	cap     int  // of the description
}

// branch is a member of a tree.
type branch struct {
	name     string
	tree     *tree
	required bool
}

// identity is the same for all references to one schema.
func (s *schema) identity() *yaml.Node {
	if s.target != nil {
		return s.target
	}
	return s.at.Node
}

// plainText returns the description of a schema without markup.
func (s *schema) plainText() string {
	if s.plain == nil {
		text := readText(s.text, textCaps[0], s.lose)
		if text == "" && s.kind != objectKind {
			text = readText(s.title, 100, s.lose)
		}
		s.plain = &text
	}
	return *s.plain
}

// memberNames describes an object by its members.
type memberNames struct {
	text    string
	members int // that the schema had when the text was made; a schema only gets more
}

// describeMembers returns the description of an object that is cut.
func (s *schema) describeMembers() string {
	if s.names.text != "" && s.names.members == len(s.members) {
		return s.names.text
	}
	names := ""
	for _, m := range s.members {
		if names += ", " + m.name; len(names) > 80 {
			names += ", …"
			break
		}
	}
	names = "An object with " + strings.TrimPrefix(names, ", ") + "."
	if suspicious(names) != "" {
		names = "An object."
	}
	s.names = memberNames{names, len(s.members)}
	return names
}

// leafSize estimates the bytes of a schema without its members in JSON Schema.
func leafSize(t *tree) int {
	n := 20 + len(t.kind)
	if t.text != "" {
		n += 18 + len(t.text) + strings.Count(t.text, `"`)
	}
	if t.nullable {
		n += 9
	}
	if t.isContainer() {
		return n
	}
	for _, v := range t.enum {
		n += len(v) + 1
		if t.enumTitles != nil {
			n += 100
		}
	}
	if t.pattern != "" {
		n += 14 + len(t.pattern)
	}
	if t.format != "" {
		n += 12 + len(t.format)
	}
	for _, b := range []string{t.bounds.min, t.bounds.max, t.bounds.above, t.bounds.below, t.bounds.multipleOf,
		t.bounds.minLength, t.bounds.maxLength, t.bounds.minItems, t.bounds.maxItems} {
		if b != "" {
			n += 14 + len(b)
		}
	}
	return n
}

// isWhole reports whether nothing of a tree was cut.
func (t *tree) isWhole() bool {
	if t.cut != "" || t.hasFile {
		return false
	}
	if t.elem != nil && !t.elem.isWhole() {
		return false
	}
	if slices.ContainsFunc(t.options, func(o *tree) bool { return !o.isWhole() }) {
		return false
	}
	return !slices.ContainsFunc(t.members, func(b *branch) bool { return !b.tree.isWhole() })
}

// eachPart calls do for the trees directly below.
func (t *tree) eachPart(do func(*tree)) {
	for _, m := range t.members {
		do(m.tree)
	}
	if t.elem != nil {
		do(t.elem)
	}
	for _, o := range t.options {
		do(o)
	}
}

// isRecursive reports whether a tree contains itself.
func (t *tree) isRecursive() bool { return t.refersTo(func(of *tree) bool { return of == t }) }

// isClosed reports whether no part of a tree means one around it.
func (t *tree) isClosed() bool {
	inside := map[*tree]bool{}
	var enter func(t *tree)
	enter = func(t *tree) {
		inside[t] = true
		t.eachPart(enter)
	}
	enter(t)
	return !t.refersTo(func(of *tree) bool { return !inside[of] })
}

func (t *tree) refersTo(meant func(*tree) bool) bool {
	if t.of != nil {
		return !t.again && meant(t.of)
	}
	found := false
	t.eachPart(func(part *tree) { found = found || part.refersTo(meant) })
	return found
}
