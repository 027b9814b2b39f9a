package template

import "strings"

// MaxTexts is the largest number of texts that are listed of a value or a template.
const MaxTexts = 4096

// Texts returns every text that a template can be, or nil if the author did not write all of them.
func (t *Tree) Texts() (all []any) {
	choices, complete := Choices{}, true
	choices.Each(t.Choices, func() {
		texts := choices.texts(t.Nodes)
		complete = complete && texts != nil
		for _, text := range texts {
			all = append(all, text)
		}
	})
	if !complete {
		return nil
	}
	return all
}

// texts returns every text that nodes can be with these choices, or nil.
func (c Choices) texts(nodes []Node) []string {
	all := []string{""}
	for _, n := range nodes {
		var parts []string
		switch n := n.(type) {
		case *Text:
			parts = []string{n.Value}
		case *Interpolation:
			parts = n.Type.Texts()
		case *If:
			for _, branch := range c.Branches(n) {
				texts := c.texts(branch)
				if texts == nil {
					return nil
				}
				parts = append(parts, texts...)
			}
		}
		if all = glueTexts(all, parts); len(all) == 0 {
			return nil
		}
	}
	return all
}

// glueTexts returns every text that is one of heads followed by one of tails, or nil.
func glueTexts(heads, tails []string) []string {
	if len(heads)*len(tails) > MaxTexts {
		return nil
	}
	out := make([]string, 0, len(heads)*len(tails))
	for _, head := range heads {
		for _, tail := range tails {
			out = append(out, head+tail)
		}
	}
	return out
}

// BeginsWithDash reports whether the author wrote a dash at the beginning of a template.
func BeginsWithDash(nodes []Node) bool {
	if len(nodes) == 0 {
		return false
	}
	switch n := nodes[0].(type) {
	case *Text:
		return strings.HasPrefix(n.Value, "-")
	case *Interpolation:
		return n.Type.Dash
	case *If:
		return BeginsWithDash(n.Then) || BeginsWithDash(n.Else)
	case *For:
		return BeginsWithDash(n.Body)
	}
	return false
}
