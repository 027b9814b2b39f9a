package sqltext

import (
	"fmt"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
)

// A Sample is a rendering to prepare against a real database.
type Sample struct {
	Text   string
	Params int
	Label  string // the branches that differ from the fullest rendering; empty for that one
	// Sources are the interpolations of the parameters.
	Sources []*template.Interpolation
}

const (
	maxSamples = 64
	maxBodies  = 256 // of all loops in one sample

	maxRenderings = 4096 // that are made to find distinct ones
)

// Samples returns at most 64 distinct renderings: the fullest, in which every condition holds, every
// loop has one round and every list two elements; the barest; and variations of the fullest in one
// branch, loop, list, name or raw text each. Interpolations with the same source vary together, and
// so do branches with the same condition or its negation.
func (p *Program) Samples() []Sample {
	if p.static {
		s := Sample{Text: p.text, Params: len(p.params)}
		for _, param := range p.params {
			s.Sources = append(s.Sources, param.of)
		}
		return []Sample{s}
	}
	var out []Sample
	seen := map[string]bool{}
	try := func(s *sampler, label string) {
		var sources []*template.Interpolation
		b := &binding{dialect: p.dialect, sampler: s, sources: &sources}
		if len(out) == maxSamples || p.root.bind(b) != nil {
			return
		}
		if text := strings.TrimSpace(string(b.text)); !seen[text] {
			seen[text] = true
			out = append(out, Sample{Text: text, Params: len(b.args), Label: label, Sources: sources})
		}
	}
	full := &sampler{}
	try(full, "")
	try(&sampler{bare: true}, "every condition false, loops and lists empty")
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
			s := &sampler{vary: c.key, to: n}
			try(s, c.label(n))
			choices = append(choices, s.choices...)
		}
	}
	return out
}

// Renderings returns at most limit distinct renderings with all combinations of their branches, loops, names and raw
// texts; those of one condition, and of one name, vary together. Lists have two elements and rows one.
func (p *Program) Renderings(limit int) (texts []string) {
	if p.static {
		return []string{p.text}
	}
	seen := map[string]bool{}
	var made []decision
	for range maxRenderings {
		s := &sampler{made: made, combines: true}
		b := &binding{dialect: p.dialect, sampler: s, sources: new([]*template.Interpolation)}
		if p.root.bind(b) == nil {
			if text := strings.TrimSpace(string(b.text)); !seen[text] {
				seen[text] = true
				texts = append(texts, text)
			}
		}
		for made = s.made; len(made) > 0 && made[len(made)-1].to == made[len(made)-1].count-1; {
			made = made[:len(made)-1]
		}
		if len(made) == 0 || len(texts) == limit {
			break
		}
		made[len(made)-1].to++
	}
	return texts
}

// decision is the option of a choice in a rendering.
type decision struct {
	key       any
	to, count int
}

// choice is a point at which renderings differ, with count options.
type choice struct {
	key          any
	count, usual int
	label        func(int) string
}

// sampler chooses the branches, rounds and values of one sample.
type sampler struct {
	bare        bool
	vary        any // the key of the choice that varies
	to          int
	choices     []choice
	bodies      int
	separatorOn map[*template.If]bool // whether this round includes the separator's text

	combines bool // all combinations of choices are sampled
	made     []decision
}

// choose returns the option of a choice in this sample. The barest sample takes the first option of
// each.
func (s *sampler) choose(key any, count, usual int, label func(int) string) int {
	if s.combines {
		for _, d := range s.made {
			if d.key == key {
				return d.to
			}
		}
		s.made = append(s.made, decision{key, 0, count})
		return 0
	}
	s.choices = append(s.choices, choice{key, count, usual, label})
	switch {
	case s.bare:
		return 0
	case s.vary == key:
		return s.to
	}
	return usual
}

// chooseText returns one of the texts that an interpolation can be, or "" if there is none.
func (s *sampler) chooseText(function string, h *template.Interpolation, texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[s.choose(function+h.Source, len(texts), 0,
		func(n int) string { return h.Source + " = \"" + texts[n] + "\"" })]
}

// taken reports whether a call or a sample takes a branch.
func (s *branch) taken(b *binding) (bool, error) {
	switch {
	case b.sampler == nil:
		return b.decisions.Holds(&s.node.Condition, b.frame)
	case s.separates:
		return b.sampler.separatorOn[s.node], nil
	}
	word := " not taken"
	if s.node.Negated {
		word = " taken"
	}
	var key any = s.node
	if s.node.Key != "" {
		key = "if " + s.node.Key
	}
	holds := b.sampler.choose(key, 2, 1, func(int) string { return directiveAt("if", s.node.Range) + word }) == 1
	return holds != s.node.Negated, nil
}

func (s *loop) sample(b *binding) error {
	least := 0
	if s.node.NotEmpty {
		least = 1
	}
	rounds := least + b.sampler.choose(s.node, 3-least, 1-least, func(n int) string {
		return []string{"no round", "one round", "two rounds"}[least+n] + " of " + directiveAt("for", s.node.Range)
	})
	for round := range rounds {
		if b.sampler.bodies++; b.sampler.bodies > maxBodies {
			return nil
		}
		if s.separator != nil {
			if b.sampler.separatorOn == nil {
				b.sampler.separatorOn = map[*template.If]bool{}
			}
			b.sampler.separatorOn[s.separator] = s.separatorFirst && round > 0 || !s.separatorFirst && round < rounds-1
		}
		if err := s.body.bind(b); err != nil {
			return err
		}
	}
	return nil
}

// directiveAt identifies a directive by the position of its condition or collection.
func directiveAt(what string, at hclv2.Range) string {
	return fmt.Sprintf("%%{%s} at line %d, column %d", what, at.Start.Line, at.Start.Column)
}

// chooseSize returns the size of a list or of rows in this sample. It tells nothing of names.
func (s *sampler) chooseSize(key any, count, usual int, label func(int) string) int {
	if s.combines {
		return usual
	}
	return s.choose(key, count, usual, label)
}

// sampled returns a list of nulls.
func (p *listParam) sampled(s *sampler) any {
	return make([]any, s.chooseSize(p.of.Source, 3, 2, func(n int) string {
		return []string{"no element", "one element", "two elements"}[n] + " in " + p.of.Source
	}))
}

// sampled returns rows of nulls: as many as the type's rows have if that is known, else one for each column. It returns
// no rows if neither is known, so that there is no sample.
func (p *rowsParam) sampled(s *sampler) any {
	width := p.cols
	for _, row := range elementTypes(p.of.Type) {
		if n, ok := knownLength(row); ok && n > 0 {
			width = n
			break
		}
	}
	rows := make([]any, 1+s.chooseSize(p.of.Source, 2, 1, func(int) string { return "one row in " + p.of.Source }))
	for i := range rows {
		rows[i] = make([]any, width)
	}
	return rows
}
