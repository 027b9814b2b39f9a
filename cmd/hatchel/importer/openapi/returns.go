package openapi

import (
	"fmt"
	"slices"
	"strings"
)

// returns declares the type of the result of an operation. Services answer otherwise than their documents say, so it is
// lenient: nothing is required that is not both required and read-only, and no value is bounded.
func (g *generator) returns(op *operation, a answer) {
	if !g.Returns {
		return
	}
	for status, n := range op.node.get("responses").members() {
		if n := g.schemas.follow(n); strings.HasPrefix(status, "2") && !n.has("content") && !n.has("schema") {
			g.lose(op, "no returns", "an answer with the status "+status+" is empty", n)
			return
		}
	}
	at := a.schema
	if len(op.paginate) > 0 && !isArray(at) {
		for _, p := range g.properties(at) {
			if isArray(p) { // the only one, see itemsOf
				at = p
			}
		}
	}
	s := follow(g.schemas.schema(at))
	if s.kind == anyKind || s.isScalar() {
		return
	}
	result, losses := expand([]*member{{"result", s, true}}, []string{""}, g.Options, false, true)
	if op.returns = result[0].tree; op.returns.kind == anyKind {
		op.returns = nil
	}
	if n := len(losses); n > 0 {
		g.lose(op, "result cut", fmt.Sprintf("any in %d places of its type", n), a.at)
	}
}

// lenient returns a schema of an answer without what a service may not hold to.
func lenient(s *schema, nullable bool) *schema {
	c := *s
	c.bounds, c.pattern, c.format, c.losses = bounds{}, "", "", nil
	c.nullable = nullable
	if s.enum != nil {
		values := make([]string, len(s.enum))
		for i, v := range s.enum[:min(len(s.enum), 12)] {
			values[i] = unquoteJSON(v)
		}
		c.enum, c.enumTitles, c.plain = nil, nil, nil
		c.text = strings.TrimSpace(ended(s.text) + " Such as " + strings.Join(slices.DeleteFunc(values,
			func(v string) bool { return v == "" }), ", ") + ".")
	}
	if c.kind == fileKind {
		c.kind = stringKind
	}
	return &c
}
