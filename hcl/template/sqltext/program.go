package sqltext

import (
	"fmt"
	"slices"
	"sync"

	"hatchel/hcl/template"
)

// A Program is a compiled template. It is immutable and safe for concurrent use.
type Program struct {
	dialect Dialect
	static  bool
	text    string   // if static
	params  []*param // if static
	root    block
	kinds   []Kind // of all renderings
}

// Kind is what a statement is to those who run it.
type Kind struct {
	Verb        string // the keyword in upper case, such as SELECT; after WITH, the main keyword
	ReturnsRows bool   // with RETURNING or as a query
}

// Inserts reports whether the statement may generate the id of a row.
func (k Kind) Inserts() bool { return k.Verb == "INSERT" || k.Verb == "REPLACE" }

// Bind renders the statement for one call and appends its arguments to args, in the order of the
// placeholders. The error is a sentence for the model that made the call, or the error of a value
// of the template.
func (p *Program) Bind(f template.Frame, args []any) (text string, out []any, err error) {
	if p.static {
		out = args
		for _, a := range p.params {
			v, err := a.eval(p.dialect, f)
			if err != nil {
				return "", args, err
			}
			out = append(out, v)
		}
		return p.text, out, nil
	}
	return p.bind(f, args, nil)
}

// Sources returns the interpolations of the arguments that Bind has returned for a frame.
func (p *Program) Sources(f template.Frame) []*template.Interpolation {
	var sources []*template.Interpolation
	_, _, _ = p.bind(f, nil, &sources) // reports what Bind has reported
	return sources
}

// bind renders the statement. The sources receive the interpolation of each argument; they may be nil.
func (p *Program) bind(f template.Frame, args []any, sources *[]*template.Interpolation) (
	text string, out []any, err error,
) {
	b := bindings.Get().(*binding)
	b.dialect, b.frame, b.text, b.args, b.base, b.sources = p.dialect, f, b.text[:0], args, len(args), sources
	b.decisions.Reset()
	err = p.root.bind(b)
	if n := len(b.args) - b.base; err == nil && n > p.dialect.maxParams() {
		err = fmt.Errorf("this call needs %d values in one statement and %s takes at most %d: send fewer elements", n,
			p.dialect, p.dialect.maxParams())
	}
	out = b.args
	b.frame, b.args, b.sources = nil, nil, nil
	if err == nil {
		text = string(b.text)
	} else {
		out = args
	}
	if cap(b.text) <= 64<<10 {
		bindings.Put(b)
	}
	return text, out, err
}

// Kinds returns the kinds of all renderings, in no order.
func (p *Program) Kinds() []Kind { return p.kinds }

// ReturnsRows reports whether any rendering returns rows.
func (p *Program) ReturnsRows() bool {
	return slices.ContainsFunc(p.kinds, func(k Kind) bool { return k.ReturnsRows })
}

// Inserts reports whether any rendering may generate the id of a row.
func (p *Program) Inserts() bool { return slices.ContainsFunc(p.kinds, Kind.Inserts) }

// KindOf returns the kind of a rendering that Bind has returned.
func (p *Program) KindOf(text string) Kind {
	if len(p.kinds) == 1 {
		return p.kinds[0]
	}
	c := newChecker(&template.Tree{Nodes: []template.Node{&template.Text{Value: text}}}, p.dialect)
	c.check()
	for kind := range c.kinds {
		return kind
	}
	return Kind{}
}

// binding is the state of one rendering.
type binding struct {
	dialect Dialect
	frame   template.Frame
	text    []byte
	args    []any
	base    int                        // len(args) before the first
	sampler *sampler                   // chooses the values of a sample; nil in a call
	sources *[]*template.Interpolation // receives those of the arguments; nil if nobody asks

	decisions template.Decisions
}

var bindings = sync.Pool{New: func() any { return new(binding) }}

// resolve returns the value of an interpolation in a call, or in a sample the value that sampled
// chooses.
func (b *binding) resolve(h *template.Interpolation, sampled func(*sampler) any) (any, error) {
	if b.sampler != nil {
		return sampled(b.sampler), nil
	}
	return h.Resolve(b.frame)
}

// add appends an argument and its placeholder.
func (b *binding) add(h *template.Interpolation, v any) {
	b.args = append(b.args, v)
	if b.sources != nil {
		*b.sources = append(*b.sources, h)
	}
	b.text = b.dialect.placeholder(b.text, len(b.args)-b.base)
}

// addList appends the elements of a list of a type as arguments, with commas between them and a closing
// parenthesis after them.
func (b *binding) addList(
	h *template.Interpolation, t template.Type, list []any, resolve func(any) (any, error),
) error {
	for i, e := range list {
		e, err := resolve(e)
		if err != nil {
			return err
		}
		if e, err = elementArgument(b.dialect, h, elementType(t, i), e); err != nil {
			return err
		}
		if i > 0 {
			b.text = append(b.text, ',')
		}
		b.add(h, e)
	}
	b.text = append(b.text, ')')
	return nil
}

// An op renders one part of a template.
type op interface {
	bind(*binding) error
}

type block []op

func (steps block) bind(b *binding) error {
	for _, s := range steps {
		if err := s.bind(b); err != nil {
			return err
		}
	}
	return nil
}

type literalText string

func (t literalText) bind(b *binding) error {
	b.text = append(b.text, t...)
	return nil
}

// branch is an %{if}. If it separates the rounds of a loop, a space replaces its text where it is
// not taken.
type branch struct {
	node        *template.If
	then, other block
	separates   bool
}

func (s *branch) bind(b *binding) error {
	yes, err := s.taken(b)
	if err != nil {
		return err
	}
	if yes {
		return s.then.bind(b)
	}
	if s.separates {
		b.text = append(b.text, ' ')
	}
	return s.other.bind(b)
}

type loop struct {
	node *template.For
	body block

	separator      *template.If // the branch in the body that separates the rounds, or nil
	separatorFirst bool         // it is the first node of the body, not the last
}

func (s *loop) bind(b *binding) error {
	if b.sampler != nil {
		return s.sample(b)
	}
	outer := b.frame
	err := s.node.Over(outer, func(f template.Frame) error {
		b.frame = f
		b.decisions.Forget(s.node.Choices)
		if len(b.args)-b.base > b.dialect.maxParams() {
			return nil // Bind reports the error; the rest need not be rendered
		}
		return s.body.bind(b)
	})
	b.frame = outer
	return err
}
