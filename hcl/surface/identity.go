package surface

import (
	"slices"
	"strings"
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/value"
)

// IdentityPart is a value of the caller that a connection sends before the first statement of each call, or that
// chooses where it is sent. Args of the connection have its expression.
type IdentityPart struct {
	Needs []string `json:"needs,omitempty"` // values of the caller without which every call fails
	Texts []string `json:"texts,omitempty"` // all that calls may have, sorted; nil for any
	// Accepts are the values of Needs with which calls do not fail, sorted; nil for any, and where it is not known.
	Accepts []string `json:"accepts,omitempty"`
}

// identity returns the parts of the identity of a connection by the path of the argument.
func (b *builder) identity(c *hcl.Connection) map[string]*IdentityPart {
	var out map[string]*IdentityPart
	for _, part := range c.IdentityParts() {
		if out == nil {
			out = map[string]*IdentityPart{}
		}
		path := part.Argument
		if part.Name != "" {
			path += "." + pathName(part.Name)
		}
		of := &IdentityPart{Needs: b.needs(part.Value), Texts: slices.Sorted(slices.Values(part.Texts))}
		if len(of.Needs) == 1 {
			of.Accepts = b.accepts(part.Value, of.Texts)
		}
		out[path] = of
	}
	return out
}

// accepts returns the values of the caller with which an expression has one of the texts, if it is such a value or an
// index by it, as in local.roles[caller.claims.plan]; nil for any, and for another expression.
func (s *source) accepts(e *hcl.Expr, texts []string) (accepted []string) {
	if strings.HasPrefix(e.Typed.Path, "caller.") {
		return texts
	}
	index, isIndex := unwrapped(s.at(e.Range)).(*hclsyntax.IndexExpr)
	if !isIndex || !isRead(index.Key) {
		return nil
	}
	var path []string
	s.visitReads(index.Key.Range(), func(p []string) { path = p })
	if len(path) < 2 || path[0] != "caller" {
		return nil
	}
	candidates := s.candidates(e)
	for i := range candidates {
		if hasValue(e, [][]string{path}, candidates, []int{i + 1}) {
			text, err := value.Text(candidates[i])
			if err != nil || i == 0 {
				return nil // the first one is any text
			}
			accepted = append(accepted, text)
		}
	}
	slices.Sort(accepted)
	return accepted
}

// unwrapped returns an expression without parentheses and quotes around it.
func unwrapped(e hclsyntax.Expression) hclsyntax.Expression {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return unwrapped(e.Expression)
	case *hclsyntax.TemplateWrapExpr:
		return unwrapped(e.Wrapped)
	}
	return e
}

// isRead reports whether an expression is nothing but a read, as in caller.claims.plan, in any notation.
func isRead(e hclsyntax.Expression) bool {
	switch e := unwrapped(e).(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return true
	case *hclsyntax.RelativeTraversalExpr:
		return isRead(e.Source)
	case *hclsyntax.IndexExpr:
		_, isConstant := unwrapped(e.Key).(*hclsyntax.LiteralValueExpr)
		return isConstant && isRead(e.Collection)
	}
	return false
}

// maxProbes is how often an expression is computed to find what it needs.
const maxProbes = 4096

// needs returns the values of the caller without which an expression has no value, whatever the others are. It computes
// the expression for callers with and without each value; the values are those that the author compares with. If none
// of these callers has a value, all that the expression reads is needed.
func (s *source) needs(e *hcl.Expr) []string {
	var paths [][]string
	var names []string
	s.visitReads(toHCL(e.Range), func(path []string) {
		if name := showPath(path); path[0] == "caller" && len(path) > 1 && !slices.Contains(names, name) {
			paths, names = append(paths, path), append(names, name)
		}
	})
	if len(paths) == 0 {
		return nil
	}
	candidates := s.candidates(e)
	for len(candidates) > 1 && power(len(candidates)+1, len(paths)) > maxProbes {
		candidates = candidates[:len(candidates)-1]
	}
	possible := false
	needed := make([]bool, len(paths))
	for i := range needed {
		needed[i] = true
	}
	chosen := make([]int, len(paths)) // the candidate of each path; 0 for none
	for {
		if hasValue(e, paths, candidates, chosen) {
			possible = true
			for i, c := range chosen {
				needed[i] = needed[i] && c > 0
			}
		}
		i := 0
		for ; i < len(chosen); i++ {
			if chosen[i]++; chosen[i] <= len(candidates) {
				break
			}
			chosen[i] = 0
		}
		if i == len(chosen) {
			break
		}
	}
	var out []string
	for i, name := range names {
		if needed[i] || !possible {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func power(base, exponent int) int {
	n := 1
	for range exponent {
		if n *= base; n > maxProbes {
			break
		}
	}
	return n
}

// candidates returns values of callers for an expression: any text, and the constants in it and in the locals and
// variables that it reads.
func (s *source) candidates(e *hcl.Expr) []any {
	out := []any{"probe"}
	add := func(v any) {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	collect := func(n hclsyntax.Node) hclv2.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.LiteralValueExpr:
			switch {
			case n.Val.IsNull():
			case n.Val.Type() == cty.String:
				add(n.Val.AsString())
			case n.Val.Type() == cty.Bool:
				add(n.Val.True())
			default:
				f, _ := n.Val.AsBigFloat().Float64()
				add(f)
			}
		case *hclsyntax.ObjectConsKeyExpr:
			if name := hclv2.ExprAsKeyword(n.Wrapped); name != "" {
				add(name)
			}
		}
		return nil
	}
	visit := func(e hclsyntax.Expression) {
		if e != nil {
			hclsyntax.VisitAll(e, collect)
		}
	}
	enter := func(r hclv2.Range) { visit(s.at(diag.RangeOf(r))) }
	s.visitRanges(toHCL(e.Range), enter, func(path []string) {
		if path[0] == "var" && len(path) > 1 {
			visit(s.variables[path[1]])
		}
	})
	return out
}

// hasValue reports whether an expression has a value that is not empty, for a caller with the chosen values.
func hasValue(e *hcl.Expr, paths [][]string, candidates []any, chosen []int) bool {
	members := map[string]any{
		"subject": nil, "groups": []any{}, "claims": map[string]any{}, "scopes": []any{}, "headers": map[string]any{},
		"client": map[string]any{}, "capabilities": []any{},
	}
	for i, path := range paths {
		if chosen[i] == 0 {
			continue
		}
		v := candidates[chosen[i]-1]
		if list, isList := members[path[1]].([]any); isList {
			members[path[1]] = append(list, v)
			continue
		}
		setMember(members, path[1:], v)
	}
	f := eval.NewLoadFrame("", time.Now)
	f.Caller = eval.CallerMembers(members)
	v, err := eval.Resolved(e.Eval(f))
	return err == nil && v != nil && v != ""
}

// setMember sets the member at a path of an object. The whole of an object is one with a member.
func setMember(object map[string]any, path []string, v any) {
	for len(path) > 1 {
		inner, ok := object[path[0]].(map[string]any)
		if !ok {
			inner = map[string]any{}
			object[path[0]] = inner
		}
		object, path = inner, path[1:]
	}
	if inner, ok := object[path[0]].(map[string]any); ok {
		object, path = inner, []string{"probe"}
	}
	object[path[0]] = v
}

// identity compares as whom the calls of a connection act, and returns the paths of the arguments that it has reported.
func (c *comparison) identity(a, b *Connection) (reported []string) {
	for _, path := range changedArguments(a.Args, b.Args) {
		top, name, _ := strings.Cut(path, ".")
		if !slices.Contains(identityArguments, top) {
			continue
		}
		reported = append(reported, path)
		_, was := a.Args[path]
		_, is := b.Args[path]
		at := c.object + "." + path
		switch {
		case top == "instances" && name != "" && !was:
			c.add(Widening, "identity", at, "instance added: %s", changeOf(path, a.Args, b.Args))
		case top == "instances" && name != "" && !is:
			c.add(Breaking, "identity", at, "instance removed: %s", changeOf(path, a.Args, b.Args))
		default:
			c.add(Widening, "identity", at, "acts as another: %s", changeOf(path, a.Args, b.Args))
		}
	}
	before, after := neededBy(a.Identity), neededBy(b.Identity)
	for _, name := range diag.SortedNames(after) {
		if before[name] == "" {
			c.add(Breaking, "identity", c.object+"."+after[name], "calls need %s", name)
		}
	}
	for _, name := range diag.SortedNames(before) {
		if after[name] == "" {
			c.add(Compatible, "identity", c.object+"."+before[name], "calls no longer need %s", name)
		}
	}
	if was, is := a.Identity["role"], b.Identity["role"]; was != nil && is != nil {
		for _, role := range missing(is.Texts, was.Texts) {
			c.add(Widening, "identity", c.object+".role", "role added: %s", role)
		}
		for _, role := range missing(was.Texts, is.Texts) {
			c.add(Breaking, "identity", c.object+".role", "role removed: %s", role)
		}
	}
	for _, path := range diag.SortedNames(b.Identity) {
		c.accepted(path, a.Identity[path], b.Identity[path])
	}
	return reported
}

// accepted reports the values of the caller with which calls did not fail and now do. That a role or an instance was
// removed is reported on its own.
func (c *comparison) accepted(path string, a, b *IdentityPart) {
	if a == nil || b.Accepts == nil || !slices.Equal(a.Needs, b.Needs) || len(missing(a.Texts, b.Texts)) > 0 {
		return
	}
	if a.Accepts == nil {
		c.add(Breaking, "identity", c.object+"."+path, "calls fail unless %s is one of %s", b.Needs[0],
			strings.Join(b.Accepts, ", "))
		return
	}
	for _, value := range missing(a.Accepts, b.Accepts) {
		c.add(Breaking, "identity", c.object+"."+path, "calls fail if %s is %s", b.Needs[0], value)
	}
}

// needs reports the values of the caller that the calls of an operation now need, because they use another connection.
// What a connection needs that was there before is reported with the connection.
func (c *comparison) needs(at string, a, b *Operation) {
	before := map[string]string{}
	c.old.neededBySteps(a.Steps, before, map[string]bool{})
	after := map[string]string{}
	c.new.neededBySteps(b.Steps, after, map[string]bool{})
	for _, name := range diag.SortedNames(after) {
		conn := after[name]
		if old := c.old.Connections[conn]; old != nil && neededBy(old.Identity)[name] == "" || before[name] != "" {
			continue
		}
		c.add(Breaking, "identity", at, "calls need %s, for the connection %s", name, conn)
	}
}

// neededBySteps adds the values of the caller that steps need, also those of the tools that they call, each with a
// connection that needs it. Seen are tools.
func (s *Surface) neededBySteps(steps []*Step, needed map[string]string, seen map[string]bool) {
	for _, step := range steps {
		if strings.HasPrefix(step.Name, "complete ") {
			continue
		}
		for _, line := range step.Does {
			name, isCall := strings.CutPrefix(line, "CALL ")
			if tool := s.Tools[name]; isCall && tool != nil && !seen[name] {
				seen[name] = true
				s.neededBySteps(tool.Steps, needed, seen)
			}
		}
		if conn := s.Connections[step.Connection]; conn != nil {
			for name := range neededBy(conn.Identity) {
				needed[name] = step.Connection
			}
		}
	}
}

// identityArguments are the arguments of connections that say as whom calls act, and where.
var identityArguments = []string{"session", "role", "instance", "instances"}

// neededBy returns the values of the caller that calls need, with the path of an argument that needs it.
func neededBy(parts map[string]*IdentityPart) map[string]string {
	needed := map[string]string{}
	for _, path := range diag.SortedNames(parts) {
		for _, name := range parts[path].Needs {
			needed[name] = path
		}
	}
	return needed
}
