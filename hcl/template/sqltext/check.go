package sqltext

import (
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
)

const (
	maxStates = 200 // different meanings of the text after a branch or loop
	maxRounds = 40  // rounds of a loop that add a new meaning
	maxDepth  = 200 // of parentheses
)

// states is the set of possible states after the renderings read so far.
type states = template.States[state]

// checker walks a template with sets of states, collects all mistakes, and determines the context
// of each interpolation.
type checker struct {
	template.Diagnostics
	dialect  Dialect
	tree     *template.Tree
	contexts map[*template.Interpolation]interpolationContext
	rawTexts map[*template.Interpolation][]*template.Text // of each raw(...)

	unseparated map[*template.For]bool // loops inside quotes

	siblings []template.Node // of the current node
	index    int             // of the current node in siblings
	tooDeep  bool            // parentheses are nested too deeply
	loops    int             // around the current node
	kinds    map[Kind]bool

	nullComparisons []nullComparison
	nullTests       []nullTest
	places          map[place]uint16 // numbers of places, for scopes

	choices template.Choices // that the renderings that are read have made
}

func newChecker(t *template.Tree, d Dialect) *checker {
	return &checker{
		dialect: d, tree: t,
		contexts:    map[*template.Interpolation]interpolationContext{},
		rawTexts:    map[*template.Interpolation][]*template.Text{},
		unseparated: map[*template.For]bool{},
		kinds:       map[Kind]bool{},
		places:      map[place]uint16{},
		choices:     template.Choices{},
	}
}

// check reads every rendering of the template.
func (c *checker) check() {
	c.choices.Each(c.tree.Choices, func() { c.checkEnd(c.readNodes(c.tree.Nodes, states{initial()})) })
	c.warnNullComparisons()
}

// errorAt reports a mistake in a part of a text node.
func (c *checker) errorAt(at span, summary, format string, args ...any) {
	c.Errorf(c.rangeOf(at), summary, format, args...)
}

func (c *checker) rangeOf(at span) hclv2.Range {
	if at.text == nil || at.text.Place == nil {
		return c.tree.Range
	}
	return at.text.Place(at.from, min(at.to, len(at.text.Value)))
}

// readNodes reads the nodes in order, starting in every state of in.
func (c *checker) readNodes(list []template.Node, in states) states {
	for i := range list {
		in = c.readNode(list, i, in)
	}
	return in
}

func (c *checker) readNode(list []template.Node, i int, in states) states {
	siblings, index := c.siblings, c.index
	c.siblings, c.index = list, i
	defer func() { c.siblings, c.index = siblings, index }()
	switch n := list[i].(type) {
	case *template.Text:
		return in.Map(func(s state) state { return c.readText(n, s) })
	case *template.Interpolation:
		var out states
		for _, s := range in {
			c.readInterpolation(n, s, &out)
		}
		return out
	case *template.If:
		var out states
		for _, branch := range c.choices.Branches(n) {
			out = out.With(c.readNodes(branch, in))
		}
		return c.limitStates(mergeBranches(out), n.Range)
	case *template.For:
		return c.readLoop(n, in)
	}
	return nil
}

func (c *checker) readText(t *template.Text, s state) state {
	l := lexer{checker: c, state: s, node: span{text: t}}
	l.read()
	return l.state
}

// lexerAt returns a lexer without text, which reports mistakes at a range.
func (c *checker) lexerAt(s state, at hclv2.Range) lexer {
	return lexer{checker: c, state: s, node: span{text: &template.Text{Place: placeAt(at)}}}
}

func placeAt(at hclv2.Range) func(int, int) hclv2.Range {
	return func(int, int) hclv2.Range { return at }
}

const maxLoops = 5 // %{for} inside %{for}

// readLoop reads the body for zero, one, two and more rounds, until a round adds no new state.
func (c *checker) readLoop(n *template.For, in states) states {
	if c.loops++; c.loops > maxLoops { // each level multiplies the rounds that are read
		c.Errorf(n.Range, "Loops nested too deeply",
			"Loops of a statement may nest %d deep. Build one flat list of the inner elements in locals.", maxLoops)
		c.loops--
		return in
	}
	defer func() { c.loops-- }()
	lead, body, trail := c.loopParts(n, in)
	exits := in
	entries, fresh := states{}, in
	for round := 0; len(fresh) > 0; round++ {
		if round > 0 && lead != nil {
			fresh = c.readNodes(lead.Then, fresh)
		}
		var out states
		c.choices.Each(n.Choices, func() { out = out.With(c.readNodes(body, fresh)) })
		exits = exits.With(out)
		if trail != nil {
			out = c.readNodes(trail.Then, out)
		}
		fresh = nil
		for _, s := range out {
			if round > 2 {
				s.widen()
			}
			if entries.Add(s) {
				fresh.Add(s)
			}
		}
		if len(entries) > maxStates || round > maxRounds {
			c.Errorf(n.Range, "Loop without fixed structure",
				"Every iteration of this loop leaves the statement in another state, for example with an "+
					"open parenthesis or quote. An iteration must close what it opens.")
			return in
		}
	}
	return c.limitStates(exits, n.Range)
}

// loopParts returns the body of a loop without the %{if} that separates its rounds. Inside quotes
// there is no separator: every byte is text.
func (c *checker) loopParts(n *template.For, in states) (lead *template.If, rest []template.Node, trail *template.If) {
	for _, s := range in {
		if s.mode >= inQuote {
			c.unseparated[n] = true
		}
	}
	if c.unseparated[n] {
		return nil, n.Body, nil
	}
	return splitSeparator(n.Body)
}

// splitSeparator removes an %{if} that contains only a separator from the beginning or the end of a
// loop's body. Its condition is unknown at load, but its text and the space that replaces it leave
// the meaning of other text unchanged.
func splitSeparator(body []template.Node) (lead *template.If, rest []template.Node, trail *template.If) {
	first, last := 0, len(body)-1
	for first < last && isBlank(body[first]) {
		first++
	}
	for last > first && isBlank(body[last]) {
		last--
	}
	if first < last {
		if n := asSeparator(body[first]); n != nil {
			return n, body[first+1:], nil
		}
		if n := asSeparator(body[last]); n != nil {
			return nil, body[:last], n
		}
	}
	return nil, body, nil
}

func isBlank(n template.Node) bool {
	t, ok := n.(*template.Text)
	return ok && strings.TrimSpace(t.Value) == ""
}

func asSeparator(n template.Node) *template.If {
	cond, ok := n.(*template.If)
	if !ok || len(cond.Then) != 1 || len(cond.Else) > 0 {
		return nil
	}
	t, ok := cond.Then[0].(*template.Text)
	if !ok {
		return nil
	}
	for _, w := range strings.Fields(strings.ToUpper(t.Value)) {
		if !separators[w] && w != "ALL" {
			return nil
		}
	}
	return cond
}

// mergeBranches merges states after the branches of an %{if} that differ only in the number of columns, which is
// unknown then, in the column or in the interpolation before them. Otherwise every optional column of a row would add a
// state for each state.
func mergeBranches(after states) (merged states) {
	for _, s := range after {
		i := slices.IndexFunc(merged, func(m state) bool {
			if m.cols, m.interpolation = s.cols, s.interpolation; m.frame() == columns {
				m.word = s.word
			}
			return m == s
		})
		if i < 0 {
			merged.Add(s)
		} else if merged[i].cols != s.cols {
			merged[i].cols = -1
		}
	}
	return merged
}

// limitStates limits the number of states.
func (c *checker) limitStates(after states, at hclv2.Range) states {
	if len(after) <= maxStates {
		return after
	}
	c.Errorf(at, "Too many renderings",
		"The text that follows can have more than %d different meanings, depending on the branches before "+
			"it. Close every quote and parenthesis in the branch that opens it.", maxStates)
	return after[:1]
}

// checkEnd checks the states at the end of the template.
func (c *checker) checkEnd(after states) {
	for _, s := range after {
		l := c.lexerAt(s, c.end())
		switch s.mode {
		case inQuote, inEscape, inDollar:
			c.errorAt(s.from, "Unclosed quote",
				"The quote that begins here is not closed in every rendering of the template.")
			continue
		case inBlock, blockStar, blockSlash, blockOpen:
			c.errorAt(s.from, "Unclosed comment",
				"The comment that begins here is not closed in every rendering of the template.")
			continue
		}
		l.flush()
		if l.sortKey != nil {
			l.sortsByConstant(l.sortKey)
		}
		if l.nested() {
			c.errorAt(l.open, "Unclosed parenthesis",
				"The parenthesis is not closed in every rendering of the template.")
		}
		if l.verb == "" {
			c.Errorf(c.tree.Range, "Empty statement",
				"The template can render to nothing. A statement needs at least its first word in every rendering.")
		}
		c.kinds[Kind{Verb: l.verb, ReturnsRows: l.returning || rowVerbs[l.verb]}] = true
	}
}

func (c *checker) end() hclv2.Range {
	end := c.tree.Range
	end.Start = end.End
	return end
}
