package openapi

import (
	"container/heap"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hatchel/cmd/hatchel/importer"
)

// textCaps are the lengths of nested descriptions that are tried until a schema fits.
var textCaps = []int{300, 120, 60, 0}

// minInputText is the length of the description that a parameter keeps.
const minInputText = 60

// expander turns the schemas of the inputs of one tool into trees that fit its budget.
type expander struct {
	maxSize, maxDepth int
	request           bool // members that are read-only are left out, else those that are write-only
	json              bool // binary data travels as text
	cap               int
	used              int
	queue             pending
	recursions        []*pendingTree
	components        map[*yaml.Node]*tree // the first of each that is large enough to be written once
	repeated          []*pendingTree       // those that are components again
	requiredCuts      int
	sizeCuts          int
	lost              int // members of what was cut because of its size
	losses            []importer.Loss
}

// pendingTree is a container that is not expanded yet.
type pendingTree struct {
	tree     *tree
	source   *schema
	path     string
	above    []*yaml.Node // schemas that contain it
	parent   *pendingTree // the container that is expanded around it; nil for an input
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
func expand(members []*member, texts []string, o Options, request, json bool) ([]*branch, []importer.Loss) {
	var best *expander
	var result []*branch
	for _, cap := range textCaps {
		x := &expander{maxSize: o.MaxSchema, maxDepth: o.Depth, request: request, json: json, cap: cap, used: 60,
			components: map[*yaml.Node]*tree{}}
		branches := x.run(members, texts)
		if best == nil || x.isBetterThan(best) {
			best, result = x, branches
		}
		if x.sizeCuts == 0 && x.used <= x.maxSize {
			break
		}
	}
	return result, best.losses
}

// isBetterThan reports whether shorter descriptions were worth it.
func (x *expander) isBetterThan(best *expander) bool {
	if fits, did := x.used <= x.maxSize, best.used <= x.maxSize; fits != did || !fits {
		return fits || !did // what does not fit is as short as it can be
	}
	return x.requiredCuts < best.requiredCuts || x.requiredCuts == best.requiredCuts && 2*x.lost < best.lost
}

func (x *expander) run(members []*member, texts []string) []*branch {
	var out []*branch
	for i, m := range members {
		optional := 1
		if m.required {
			optional = 0
		}
		s := follow(m.schema)
		if !x.request {
			s = lenient(s, false)
		}
		t := x.leaf(s, m.name, nil, optional)
		if texts[i] != "" {
			text := importer.Sentence(texts[i], max(x.cap, minInputText))
			x.used += len(text) - len(t.text)
			t.text, t.ownText = text, true
		}
		x.used += len(m.name) + 10
		out = append(out, &branch{m.name, t, m.required})
	}
	for x.queue.Len() > 0 {
		x.grow(heap.Pop(&x.queue).(*pendingTree))
	}
	x.settleReferences()
	return out
}

// follow returns the schema that an alias of a recursive schema stands for.
func follow(s *schema) *schema {
	nullable := false
	for range maxHops {
		if s.kind != anyKind || len(s.alternatives) != 1 {
			break
		}
		nullable = nullable || s.nullable
		s = s.alternatives[0]
	}
	if nullable && !s.nullable {
		c := *s
		c.nullable, c.described = true, true
		return &c
	}
	return s
}

// leaf adds a schema without its members, which grow adds later.
func (x *expander) leaf(s *schema, path string, parent *pendingTree, optional int) *tree {
	t := &tree{schema: s, kind: s.kind, cap: x.cap, answer: !x.request}
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
		isNoScalar := func(a *schema) bool { return !follow(a).isScalar() }
		if t.kind = oneOfKind; !x.json && !slices.ContainsFunc(s.alternatives, isNoScalar) {
			t.kind = stringKind // outside of JSON every scalar is text
			t.text = strings.TrimSpace(ended(t.text) + " " + describeAlternatives(s))
			x.lose(s, path, "alternatives became text", describeAlternatives(s))
		} else if !x.json || !x.request || len(s.alternatives) > maxAlternatives {
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
		p := &pendingTree{tree: t, source: s, path: path, parent: parent, optional: optional, order: x.queue.Len()}
		if parent != nil {
			p.above = append(slices.Clip(parent.above), parent.source.identity())
		}
		heap.Push(&x.queue, p)
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
	case s.name != "" && slices.Contains(p.above, id):
		x.recur(p, id)
		return
	case len(p.above) >= x.maxDepth:
		x.cutTree(p, "schema too deep")
		return
	}
	shared := x.json && s.name != "" && t.kind == objectKind && len(s.members) >= minTypeMembers &&
		(p.parent == nil || !s.described)
	if shared && x.components[id] != nil {
		x.repeated = append(x.repeated, p)
		return
	}
	before, queued := x.used, x.queue.Len()
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
			required := m.required
			if !x.request {
				required = required && sub.readOnly
				sub = lenient(sub, !required)
			}
			below := x.leaf(sub, p.path+"."+m.name, p, optional)
			t.members = append(t.members, &branch{m.name, below, required})
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
			option := x.leaf(follow(sub), p.path, p, p.optional)
			if option.nullable { // the whole union is, because its alternatives cannot be
				union, alternative := *t.schema, *option.schema
				union.nullable, alternative.nullable = true, false
				t.schema, option.schema = &union, &alternative
			}
			t.options = append(t.options, option)
		}
	default:
		x.used += 12
		elem := follow(s.elem)
		if !x.request {
			elem = lenient(elem, elem.nullable)
		}
		t.elem = x.leaf(elem, p.path, p, p.optional)
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
	} else if shared {
		x.components[id] = t
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
		x.lost += max(1, len(p.source.members))
		if p.optional == 0 {
			x.requiredCuts++
		}
	}
	t.cut, t.members, t.elem, t.options = why, nil, nil, nil
	if t.kind == oneOfKind {
		t.kind = anyKind
		t.text = strings.TrimSpace(ended(t.text) + " " + describeAlternatives(p.source))
		return
	}
	if t.kind == objectKind {
		t.kind = anyKind
		names := p.source.describeMembers()
		t.text = strings.TrimSpace(ended(t.text) + " " + names)
		x.used += len(names)
		return
	}
	t.elem = &tree{schema: &schema{kind: anyKind}, kind: anyKind}
	if elem := follow(p.source.elem); elem.isScalar() {
		c := &schema{kind: elem.kind, nullable: elem.nullable, enum: elem.enum}
		if scalar := (&tree{schema: c, kind: c.kind}); leafSize(scalar) < maxScalar {
			t.elem = scalar
		}
	}
}

// maxScalar is the size up to which the elements of a list keep their type when the list is cut.
const maxScalar = 300
