package functions

import (
	"slices"
	"strings"

	"hatchel/internal/lazyregexp"
)

const linkParameter = `[ \t]*;[ \t]*([^=;, \t]*)[ \t]*(?:=[ \t]*(?:"((?:[^"\\]|\\.)*)"?|([^ \t;,]*)))?`

// linkPattern matches one <target>; name=value; ... of RFC 8288, up to the comma after it, and
// linkParameterPattern one of its parameters.
var (
	linkPattern          = lazyregexp.New(`^[ \t,]*<([^>]*)>((?:` + linkParameter + `)*)[^,]*`)
	linkParameterPattern = lazyregexp.New(`^` + linkParameter)
)

func link(c *Context, a []any) (any, error) {
	lines, ok := a[0].(map[string]any)["link"].([]any)
	if !ok {
		lines = []any{a[0].(map[string]any)["link"]}
	}
	for _, line := range lines {
		for s, _ := line.(string); s != ""; {
			if err := c.scan(len(s)); err != nil {
				return nil, err
			}
			m := linkPattern.FindStringSubmatch(s)
			if m == nil { // skips malformed text
				_, s, _ = strings.Cut(s, ",")
				continue
			}
			if target := strings.TrimSpace(m[1]); target != "" && hasRelation(m[2], a[1].(string)) {
				return target, nil
			}
			s = s[len(m[0]):]
		}
	}
	return nil, nil
}

// hasRelation reports whether the first parameter rel names a relation; only the first one counts.
func hasRelation(parameters, relation string) bool {
	for parameters != "" {
		m := linkParameterPattern.FindStringSubmatch(parameters)
		if strings.EqualFold(m[1], "rel") {
			isRelation := func(name string) bool { return strings.EqualFold(name, relation) }
			return slices.ContainsFunc(strings.Fields(m[2]+m[3]), isRelation)
		}
		parameters = parameters[len(m[0]):]
	}
	return false
}
