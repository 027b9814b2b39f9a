package openapi

import (
	"container/heap"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hatchel/cmd/hatchel/importer"
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

// textCaps are the lengths of nested descriptions that are tried until a schema fits.
var textCaps = []int{300, 120, 60, 0}

// expander turns the schemas of the inputs of one tool into trees that fit its budget.
type expander struct {
	maxSize, maxDepth int
	request           bool // members that are read-only are left out, else those that are write-only
	json              bool // binary data travels as text
	cap               int
	used              int
	queue             pending
	requiredCuts      int
	sizeCuts          int
	losses            []importer.Loss
}

// pendingTree is a container that is not expanded yet.
type pendingTree struct {
	tree     *tree
	source   *schema
	path     string
	above    []*yaml.Node // schemas that contain it
	optional int          // how many of the members that lead to it are optional
	order    int
}

type pending []*pendingTree

func (p pending) Len() int { return len(p) }
func (p pending) Less(i, j int) bool {
	a, b := p[i], p[j]
	if a.optional != b.optional {
		return a.optional < b.optional
	}
	if len(a.above) != len(b.above) {
		return len(a.above) < len(b.above)
	}
	return a.order < b.order
}
func (p pending) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *pending) Push(v any)   { *p = append(*p, v.(*pendingTree)) }
func (p *pending) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}

// expand returns the members as trees. It shortens descriptions before it cuts schemas, and cuts what is optional
// and deep before what is required.
// The sizes are estimates, so a fifth of the budget is kept back.
func expand(members []*member, texts []string, o Options, request, json bool) ([]*branch, []importer.Loss) {
	var best *expander
	var result []*branch
	for _, cap := range textCaps {
		x := &expander{maxSize: o.MaxSchema * 4 / 5, maxDepth: o.Depth, request: request, json: json, cap: cap, used: 60}
		branches := x.run(members, texts)
		if best == nil || x.requiredCuts < best.requiredCuts || x.requiredCuts == best.requiredCuts && x.sizeCuts == 0 {
			best, result = x, branches
		}
		if x.sizeCuts == 0 {
			break
		}
	}
	return result, best.losses
}

func (x *expander) run(members []*member, texts []string) []*branch {
	var out []*branch
	for i, m := range members {
		optional := 1
		if m.required {
			optional = 0
		}
		t := x.leaf(m.schema, m.name, nil, optional)
		if texts[i] != "" {
			x.used += len(texts[i]) - len(t.text)
			t.text, t.ownText = texts[i], true
		}
		x.used += len(m.name) + 10
		out = append(out, &branch{m.name, t, m.required})
	}
	for x.queue.Len() > 0 {
		x.grow(heap.Pop(&x.queue).(*pendingTree))
	}
	return out
}

// follow returns the schema that an alias of a recursive schema stands for.
func follow(s *schema) *schema {
	for range maxHops {
		if s.kind != anyKind || len(s.alternatives) != 1 {
			break
		}
		s = s.alternatives[0]
	}
	return s
}

// leaf adds a schema without its members, which grow adds later.
func (x *expander) leaf(s *schema, path string, above []*yaml.Node, optional int) *tree {
	s = follow(s)
	t := &tree{schema: s, kind: s.kind, cap: x.cap}
	t.text = importer.Sentence(s.plainText(), max(x.cap, 0))
	if x.cap == 0 {
		t.text = ""
	}
	if s.kind == fileKind && x.json {
		t.kind = stringKind
		t.text = strings.TrimSpace(t.text + " In base64.")
	}
	t.hasFile = s.kind == fileKind
	if s.kind == anyKind && len(s.alternatives) > 1 {
		if t.kind = oneOfKind; !x.json || len(s.alternatives) > maxAlternatives {
			t.kind = anyKind
			t.text = strings.TrimSpace(ended(t.text) + " " + describeAlternatives(s))
			x.lose(s, path, "alternatives became any", describeAlternatives(s))
		}
	}
	for _, l := range s.losses {
		x.lose(s, path, l.Kind, l.Detail)
	}
	x.used += leafSize(t)
	if t.isContainer() {
		heap.Push(&x.queue, &pendingTree{t, s, path, above, optional, x.queue.Len()})
	}
	return t
}

// maxAlternatives is the number of alternatives up to which a value is one_of them.
const maxAlternatives = 8

func (t *tree) isContainer() bool {
	return t.kind == oneOfKind || t.kind == objectKind || t.kind == listKind || t.kind == setKind || t.kind == mapKind
}

func (x *expander) lose(s *schema, path, kind, detail string) {
	detail = strings.TrimSpace(path + ": " + detail)
	if !slices.ContainsFunc(x.losses, func(l importer.Loss) bool { return l.Kind == kind && l.Detail == detail }) {
		x.losses = append(x.losses, importer.Loss{Kind: kind, Detail: detail, Origin: s.at.place()})
	}
}

// grow expands a container by one level, or cuts it.
func (x *expander) grow(p *pendingTree) {
	t, s := p.tree, p.source
	id := s.identity()
	switch {
	case slices.Contains(p.above, id):
		x.cutTree(p, "recursive schema")
		return
	case len(p.above) >= x.maxDepth:
		x.cutTree(p, "schema too deep")
		return
	}
	before, queued := x.used, x.queue.Len()
	above := append(slices.Clip(p.above), id)
	losses := len(x.losses)
	switch t.kind {
	case objectKind:
		x.used += 40
		for _, m := range s.members {
			sub := follow(m.schema)
			if x.request && sub.readOnly || !x.request && sub.writeOnly {
				continue
			}
			optional := p.optional
			if !m.required {
				optional++
			}
			x.used += len(m.name) + 6
			if m.required {
				x.used += len(m.name) + 3
			}
			below := x.leaf(m.schema, p.path+"."+m.name, above, optional)
			t.members = append(t.members, &branch{m.name, below, m.required})
			if x.used > x.maxSize {
				break
			}
		}
		if len(t.members) == 0 {
			t.kind, t.elem = mapKind, &tree{schema: &schema{kind: anyKind}, kind: anyKind}
		}
	case oneOfKind:
		x.used += 12
		for _, sub := range s.alternatives {
			t.options = append(t.options, x.leaf(sub, p.path, above, p.optional+1))
		}
	default:
		x.used += 12
		t.elem = x.leaf(s.elem, p.path, above, p.optional)
	}
	if x.used > x.maxSize {
		x.used, x.losses = before, x.losses[:losses]
		for x.queue.Len() > queued { // those of this container
			i := slices.IndexFunc(x.queue, func(q *pendingTree) bool { return q.isBelow(t) })
			if i < 0 {
				break
			}
			heap.Remove(&x.queue, i)
		}
		x.cutTree(p, "schema too large")
	}
}

func (p *pendingTree) isBelow(t *tree) bool {
	return t.elem == p.tree || slices.Contains(t.options, p.tree) ||
		slices.ContainsFunc(t.members, func(b *branch) bool { return b.tree == p.tree })
}

// cutTree makes a container any, or a list or map of any.
func (x *expander) cutTree(p *pendingTree, why string) {
	t := p.tree
	x.lose(p.source, p.path, why, "")
	if why == "schema too large" {
		x.sizeCuts++
		if p.optional == 0 {
			x.requiredCuts++
		}
	}
	names := ""
	if t.kind == objectKind {
		for _, m := range p.source.members {
			if names += ", " + m.name; len(names) > 80 {
				names += ", …"
				break
			}
		}
		names = "An object with " + strings.TrimPrefix(names, ", ") + "."
	}
	t.cut, t.members, t.elem, t.options = why, nil, nil, nil
	if t.kind == oneOfKind {
		t.kind = anyKind
		t.text = strings.TrimSpace(ended(t.text) + " " + describeAlternatives(p.source))
		return
	}
	if t.kind == objectKind {
		t.kind = anyKind
		t.text = strings.TrimSpace(ended(t.text) + " " + names)
		x.used += len(names)
		return
	}
	t.elem = &tree{schema: &schema{kind: anyKind}, kind: anyKind}
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
		text := plainText(s.text, textCaps[0])
		if why := suspicious(text); why != "" {
			s.lose("description left out", why)
			text = ""
		}
		if text == "" && s.kind != objectKind {
			text = plainText(s.title, 100)
		}
		s.plain = &text
	}
	return *s.plain
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
