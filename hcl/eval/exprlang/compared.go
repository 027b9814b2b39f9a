package exprlang

import (
	"strings"

	"hatchel/hcl/eval"
)

// recordCompared records the texts that read, a part of the caller or an element of it, is compared with.
func (c *compiler) recordCompared(read, with typedExpr) {
	if !strings.HasPrefix(read.Read, "caller.") {
		return
	}
	choices := with.AllChoices()
	if path := eval.SplitPath(with.Path); len(path) == 2 && c.roots[path[0]] != nil {
		if m := c.roots[path[0]].Members[path[1]]; m != nil && m.Known && !m.Sensitive {
			choices = append(choices, m.Value)
		}
	}
	for _, choice := range choices {
		c.recordTexts(read.Read, choice)
	}
}

// recordTexts records a text, or the texts of a list.
func (c *compiler) recordTexts(path string, v any) {
	switch v := v.(type) {
	case string:
		if c.compared == nil {
			c.compared = map[string][]string{}
		}
		c.compared[path] = append(c.compared[path], v)
	case []any:
		for _, elem := range v {
			c.recordTexts(path, elem)
		}
	}
}
