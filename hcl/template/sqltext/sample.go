package sqltext

import "strings"

// A Sample is a rendering to prepare against a real database.
type Sample struct {
	Text   string
	Params int
	Label  string // the branches that differ from the fullest rendering; empty for that one
}

const (
	maxSamples = 64
	maxBodies  = 256 // of all loops in one sample
)

// Samples returns at most 64 distinct renderings: the fullest, in which every %{if} is taken, every
// loop has one round and every list two elements; the barest; and variations of the fullest in one
// branch, loop, list, name or raw text each. Interpolations with the same source vary together.
func (p *Program) Samples() []Sample {
	if p.static {
		return []Sample{{Text: p.text, Params: len(p.params)}}
	}
	full := &sampler{dialect: p.dialect}
	p.root.sample(full)
	out := []Sample{full.result("")}
	seen := map[string]bool{out[0].Text: true}
	try := func(s *sampler, label string) {
		if len(out) == maxSamples {
			return
		}
		p.root.sample(s)
		if r := s.result(label); !seen[r.Text] {
			seen[r.Text] = true
			out = append(out, r)
		}
	}
	try(&sampler{dialect: p.dialect, bare: true}, "every branch not taken, loops and lists empty")
	// Choices inside a branch are found while the branch is taken or skipped, and appended then.
	choices, known := full.choices, map[any]bool{}
	for i := 0; i < len(choices) && len(out) < maxSamples; i++ {
		c := choices[i]
		if known[c.key] {
			continue
		}
		known[c.key] = true
		for n := range c.count {
			if n == c.usual {
				continue
			}
			s := &sampler{dialect: p.dialect, vary: c.key, to: n}
			try(s, c.label(n))
			choices = append(choices, s.choices...)
		}
	}
	return out
}

// choice is a point at which renderings differ, with count options.
type choice struct {
	key          any
	count, usual int
	label        func(int) string
}

// sampler renders one sample.
type sampler struct {
	dialect     Dialect
	text        []byte
	params      int
	bare        bool
	vary        any // the key of the choice that varies
	to          int
	choices     []choice
	bodies      int
	separatorOn map[any]bool // by separator: whether this round includes its text
}

func (s *sampler) result(label string) Sample {
	return Sample{Text: strings.TrimSpace(string(s.text)), Params: s.params, Label: label}
}

// choose returns the option of a choice in this sample. The barest sample takes the first option of
// each.
func (s *sampler) choose(c choice) int {
	s.choices = append(s.choices, c)
	switch {
	case s.bare:
		return 0
	case s.vary == c.key:
		return s.to
	}
	return c.usual
}

func (s *sampler) add() {
	s.params++
	s.text = s.dialect.placeholder(s.text, s.params)
}

func (steps block) sample(s *sampler) {
	for _, st := range steps {
		st.sample(s)
	}
}

func (t literalText) sample(s *sampler) { s.text = append(s.text, t...) }

func (p *param) sample(s *sampler) {
	s.text = append(s.text, p.before...)
	s.add()
	s.text = append(s.text, p.after...)
}

func (p *branch) sample(s *sampler) {
	if p.separates {
		if s.separatorOn[p.key] {
			p.then.sample(s)
		} else {
			s.text = append(s.text, ' ')
		}
		return
	}
	taken := s.choose(choice{p.key, 2, 1, func(int) string { return p.at + " not taken" }})
	if taken == 1 {
		p.then.sample(s)
	} else {
		p.other.sample(s)
	}
}

func (p *loop) sample(s *sampler) {
	n := s.choose(choice{p.key, 3, 1, func(n int) string {
		return []string{"no round", "one round", "two rounds"}[n] +
			" of " + p.at
	}})
	for round := range n {
		if s.bodies++; s.bodies > maxBodies {
			return
		}
		if p.separator != nil {
			if s.separatorOn == nil {
				s.separatorOn = map[any]bool{}
			}
			s.separatorOn[p.separator] = p.separatorFirst && round > 0 || !p.separatorFirst && round < n-1
		}
		p.body.sample(s)
	}
}

func (p *listParam) sample(s *sampler) {
	n := s.choose(choice{p.hole.Source, 3, 2, func(n int) string {
		return []string{"no element", "one element", "two elements"}[n] + " in " + p.hole.Source
	}})
	s.text = append(s.text, p.opening(n)...)
	for i := range n {
		if i > 0 {
			s.text = append(s.text, ',')
		}
		s.add()
	}
	s.text = append(s.text, ')')
}

func (p *rowsParam) sample(s *sampler) {
	n := 1 + s.choose(choice{p.hole.Source, 2, 1, func(int) string { return "one row in " + p.hole.Source }})
	width := p.width()
	for i := range n {
		if i > 0 {
			s.text = append(s.text, ',')
		}
		s.text = append(s.text, '(')
		for j := range width {
			if j > 0 {
				s.text = append(s.text, ',')
			}
			s.add()
		}
		s.text = append(s.text, ')')
	}
}

// width returns the number of values in a row: that of the type's rows if it is known, else the
// number of columns, and at least 1.
func (p *rowsParam) width() int {
	for _, row := range elementTypes(p.hole.Type) {
		if n, ok := knownLength(row); ok && n > 0 {
			return n
		}
	}
	return max(p.cols, 1)
}

func (p *namesOp) sample(s *sampler) {
	for i, a := range p.hole.Args {
		if i > 0 {
			s.text = append(s.text, '.')
		}
		n := s.choose(choice{"ident " + a.Source, len(p.order[i]), 0,
			func(n int) string { return a.Source + " = \"" + p.order[i][n] + "\"" }})
		s.text = s.dialect.quote(s.text, p.order[i][n])
	}
}

func (p *rawOp) sample(s *sampler) {
	n := s.choose(choice{"raw " + p.arg.Source, len(p.texts), 0,
		func(n int) string { return p.arg.Source + " = \"" + p.texts[n] + "\"" }})
	s.text = append(s.text, p.texts[n]...)
}
