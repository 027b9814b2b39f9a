package hclexpr

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/template"
)

// compileTraversal compiles root.member.…
func (c *Compiler) compileTraversal(t hclv2.Traversal, in LexicalEnv) eval.TypedExpr {
	name := t.RootName()
	if c.Observer != nil {
		c.Observer.Name(name, func() eval.Place {
			return eval.Place{Roots: c.Scope.Roots(), Vars: in.vars.types(), Secrets: c.allowsSecrets()}
		})
	}
	if v := in.vars.find(name); v != nil {
		return c.compileSteps(c.loopVariable(v, in), t[1:], in)
	}
	r, why := c.Scope.Find(name)
	if name == "caller" && c.deps != nil {
		c.deps.Caller = true
	}
	if r == nil {
		c.reportUnknownRoot(t, why)
		return eval.Broken()
	}
	at := t.SourceRange()
	c.deps.RecordRead(at.Start.Byte, at.End.Byte, traversalPath(t))
	if len(t) == 1 || r.Members == nil {
		return c.compileSteps(c.compileRoot(r, name, t.SourceRange()), t[1:], in)
	}
	key, ok := TraverserName(t[1])
	if !ok {
		c.Errorf(t[1].SourceRange(), "Name needed", "The name of %s is expected after %s.",
			diag.WithArticle(r.Noun), name)
		return eval.Broken()
	}
	if c.Observer != nil {
		c.Observer.Name(key, func() eval.Place { return eval.Place{Root: r, Secrets: c.allowsSecrets()} })
	}
	m, ok := r.Members[key]
	if !ok {
		c.reportUnknownMember(r, key, traverserNameRange(t[1]))
		return eval.Broken()
	}
	c.markUse(m)
	n := c.compileMember(m, eval.MemberPath(name, key), t[:2].SourceRange(), in)
	if c.Observer != nil {
		place := diag.RangeOf(traverserNameRange(t[1]))
		c.Observer.Reference(eval.Reference{At: place, Kind: name, Name: key, Local: m.Local})
		c.Observer.Value(place, n)
	}
	return c.compileSteps(n, t[2:], in)
}

func (c *Compiler) allowsSecrets() bool { return c.Scope.Secrets == eval.AllowSecrets }

// traversalPath returns the path of a traversal, to the first step that is no name.
func traversalPath(t hclv2.Traversal) string {
	path := t.RootName()
	for _, step := range t[1:] {
		name, ok := TraverserName(step)
		if !ok {
			break
		}
		path = eval.MemberPath(path, name)
	}
	return path
}

// Traversal returns the traversal that an expression is, also with parentheses around its beginning, as in
// (local).map.a; nil for none.
func Traversal(e hclsyntax.Expression) hclv2.Traversal {
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return e.Traversal
	case *hclsyntax.ParenthesesExpr:
		return Traversal(e.Expression)
	case *hclsyntax.RelativeTraversalExpr:
		if t := Traversal(e.Source); t != nil {
			return slices.Concat(t, e.Traversal)
		}
	}
	return nil
}

// requireWhole records that a value is used as all there is, and returns it as one that no limit cuts. A value that is
// masked for some callers is refused there.
func (c *Compiler) requireWhole(n eval.TypedExpr, at hclv2.Range) eval.TypedExpr {
	c.deps.RequireWhole(n.HeldCuts(), diag.RangeOf(at))
	if masks := n.HeldMasks(); masks != nil {
		c.Errorf(at, eval.MaskedDecides, "%s", eval.MaskedDecidesDetail(c.sourceText(at), masks))
	}
	n.Facts = n.Whole()
	return n
}

// markUse records that a member is read.
func (c *Compiler) markUse(m *eval.Member) {
	if c.deps != nil && m.CallerSpecific {
		c.deps.Caller = true
	}
	if c.deps != nil && !m.Local {
		c.deps.Members = append(c.deps.Members, m) // blocks are decoded concurrently; the loader marks them as used
		return
	}
	m.Used = true
	m.Reads++
}

// A suggestion costs as much as there are names. These limits keep a file with thousands of mistakes from taking
// minutes.
const (
	maxSuggestedNames = 1000 // in the root
	maxSuggestions    = 200  // in one expression
)

func (c *Compiler) reportUnknownMember(r *eval.Root, key string, at hclv2.Range) {
	c.reads.Call = true
	switch why, later := r.Unavailable[key]; {
	case later:
		c.Errorf(at, "Value not available here", "%s", why)
		c.Diags.Mark(diag.Unavailable)
		return
	case r.Partial: // it may be declared in a file that could not be read
		return
	case len(r.Members) == 0:
		c.Errorf(at, "Unknown "+r.Noun, "There is no %s %q. None is declared.", r.Noun, key)
	case len(r.Members) > maxSuggestedNames || len(c.Diags) > maxSuggestions:
		c.Errorf(at, "Unknown "+r.Noun, "There is no %s %q among %d.", r.Noun, key, len(r.Members))
	default:
		names := diag.SortedNames(r.Members)
		c.Errorf(at, "Unknown "+r.Noun, "There is no %s %q.%s", r.Noun, key,
			diag.SuggestOr(key, names, diag.ListAre(names)))
	}
	c.Diags.Mark(diag.Undeclared)
}

func (c *Compiler) compileMember(m *eval.Member, path string, r hclv2.Range, in LexicalEnv) eval.TypedExpr {
	if m.Sensitive && c.Scope.Secrets == eval.RejectSecrets {
		c.Errorf(r, "Secret would be visible",
			"%s is secret, but the caller, a log or another process can read this value. Secrets are allowed in "+
				"auth blocks, headers, query, env and connection settings.", eval.ShowPath(path))
	}
	n := m.Typed()
	n.Path, n.Read, n.Call = path, path, !m.Known
	c.reads = c.reads.Union(eval.ReadSet{Marks: n.Marks})
	if in.NonNull.Has(path) {
		n.NullReason = ""
	}
	return n
}

func (c *Compiler) compileRoot(r *eval.Root, name string, at hclv2.Range) eval.TypedExpr {
	if r.Value == nil {
		c.Errorf(at, "Name needed", "%s is not a value. Write %s.<name>.%s", name, name,
			diag.ListAre(diag.SortedNames(r.Members)))
		return eval.Broken()
	}
	for _, m := range r.Members {
		c.markUse(m)
	}
	n := eval.TypedExpr{Type: r.Type, Facts: r.WholeFacts(false), Eval: r.Value, Path: name, Read: name}
	n.Call = n.Call || r.Members == nil
	if n.Sensitive && c.Scope.Secrets == eval.RejectSecrets {
		c.Errorf(at, "Secret would be visible",
			"%s holds secrets, but the caller, a log or another process can read this value.", name)
	}
	c.reads = c.reads.Union(eval.ReadSet{Marks: n.Marks})
	return c.foldConstant(n, at)
}

func (c *Compiler) reportUnknownRoot(t hclv2.Traversal, why string) {
	name, r := t.RootName(), t[0].SourceRange()
	if why != "" {
		c.Errorf(t.SourceRange(), "Value not available here", "%s", why)
		c.Diags.Mark(diag.Unavailable)
		return
	}
	names := c.Scope.Readable()
	near := diag.DidYouMean(name, names)
	member, replaced := name, "."+name
	if len(t) > 1 && !near.IsFix() { // argument.x is input.x
		member, _ = TraverserName(t[1])
		replaced = ""
	}
	for _, root := range names {
		if r, _ := c.Scope.Find(root); r.Members[member] != nil {
			near = diag.Correct(name, root+replaced, " Write "+root+"."+member+".")
		}
	}
	more := ""
	switch {
	case name == "path" && len(t) > 1:
		more = ` The name of a file is relative to the configuration directory, as in file("x.txt").`
	case len(t) == 1 && bytes.HasSuffix(c.src[:r.Start.Byte], []byte("${")):
		more = " If ${ is meant for a shell, write $${."
	case len(t) == 1:
		more = " Texts are written in quotes."
	}
	c.Errorf(r, "Unknown name", "There is no %q here.%s%s%s", name, near, more,
		diag.ListNames(" Readable here: ", names))
}

// compileSteps compiles what follows a value: .name and [index].
func (c *Compiler) compileSteps(n eval.TypedExpr, steps hclv2.Traversal, in LexicalEnv) eval.TypedExpr {
	for _, s := range steps {
		if name, ok := TraverserName(s); ok {
			at := traverserNameRange(s)
			n = c.compileAttribute(n, name, at, in)
			c.noteValue(at, n)
		} else if index, ok := s.(hclv2.TraverseIndex); ok {
			n = c.compileElement(n, eval.Constant(LiteralValue(index.Key)), index.SrcRange, in)
		}
	}
	return n
}

// compileAttribute compiles n.name.
func (c *Compiler) compileAttribute(n eval.TypedExpr, name string, r hclv2.Range, in LexicalEnv) eval.TypedExpr {
	if c.Observer != nil {
		c.Observer.Name(name, func() eval.Place { return eval.Place{Type: n.Type} })
	}
	c.checkNotNull(n, r)
	out := eval.TypedExpr{Type: eval.AnyType, Facts: n.MemberFacts(name), Read: n.Read}
	if n.Path != "" {
		out.Path = eval.MemberPath(n.Path, name)
	} else if n.Phrase != "" {
		out.Phrase = n.Phrase + eval.ShowMember(name)
	}
	inner, optional := n.Eval, false
	switch n.Type.Kind {
	case schema.Object, schema.File:
		t, subject := n.Type, eval.SubjectCapitalized(n)
		if t.Kind == schema.File {
			t, subject = schema.FileMembers(), subject+" is a file and"
		}
		m, ok := t.Lookup(name)
		if !ok {
			names := t.MemberNames()
			c.Errorf(r, "Unknown member", "%s has no member %q.%s", subject, name,
				diag.SuggestOr(name, names, diag.ListHas(names)+eval.NestedMember(n.Path, n.Type, name)))
			return eval.Broken()
		}
		out.Type = m.Type.Unfolded()
		optional = m.Type.Nullable || m.Optional && !m.HasDefault
		if optional {
			out.NullReason = cmp.Or(eval.NullableReason(eval.Subject(out), m.Type),
				eval.Subject(out)+" is optional, so it may be null here")
		}
		if m.Optional && !m.HasDefault {
			out.Absent = func(f *eval.Frame) bool { return !m.Type.Nullable || !hasMember(f, inner, name) }
		}
		if n.Type.Kind == schema.File && name == "path" {
			out.AsPath = template.PathSafe // the server chooses it
		}
		if n.Type.Kind == schema.File && name == "url" && !c.env.FileURLs {
			c.Errorf(r, "Address not known", `%s needs the public URL of this server. Write files { base_url = `+
				`"https://…" } at the top of a file.`, eval.Subject(out))
		}
	case schema.Map:
		if n.Path == "caller.headers" {
			c.checkCallerHeader(name, diag.RangeOf(r))
		}
		out.Type = eval.ElemType(n.Type)
		out.NullReason = eval.NullableReason(eval.Subject(out), out.Type)
	case schema.Any:
	case schema.List, schema.Set:
		c.Errorf(r, "Unknown member",
			"%s is a list and has no members. Write [*].%s for the member of every element, or [0].%s for that of "+
				"the first.", eval.SubjectCapitalized(n), name, name)
		return eval.Broken()
	default:
		c.Errorf(r, "Unknown member", "%s is %s and has no members.", eval.SubjectCapitalized(n),
			eval.TypePhrase(n.Type))
		return eval.Broken()
	}
	if in.NonNull.Has(out.Path) {
		out.NullReason = ""
	}
	access := eval.Access{What: eval.Subject(n), Optional: optional}
	out.Eval = func(f *eval.Frame) (any, error) {
		v, err := inner(f)
		if err != nil {
			return nil, err
		}
		return access.Member(f, v, name)
	}
	return c.foldConstant(out, r)
}

// hasMember reports whether a value is an object with the member, even if that is null.
func hasMember(f *eval.Frame, object eval.Func, name string) bool {
	v, _ := eval.Resolved(object(f))
	m, _ := v.(map[string]any)
	_, ok := m[name]
	return ok
}

// checkNotNull reports access to a member or an element of a value that may be null.
func (c *Compiler) checkNotNull(n eval.TypedExpr, r hclv2.Range) {
	if n.NullReason == "" || c.Nulls == eval.PrintNull {
		return
	}
	hint := "check it with a condition"
	if n.Path != "" {
		hint = fmt.Sprintf("check it: `%s != null ? … : …`, or `%%{if %[1]s != null}` in a template",
			eval.ShowPath(n.Path))
	}
	c.Errorf(r, "Value may be null", "%s, but null has no members; %s.", eval.NullSentence(n), hint)
}

// TraverserName returns the name of a step of a traversal, .name or ["name"].
func TraverserName(s hclv2.Traverser) (string, bool) {
	switch s := s.(type) {
	case hclv2.TraverseAttr:
		return s.Name, true
	case hclv2.TraverseIndex:
		name, ok := LiteralValue(s.Key).(string)
		return name, ok
	}
	return "", false
}

// traverserNameRange is the range of a name without its dot.
func traverserNameRange(s hclv2.Traverser) hclv2.Range {
	r := s.SourceRange()
	if a, ok := s.(hclv2.TraverseAttr); ok && r.End.Byte-r.Start.Byte > len(a.Name) {
		r.Start.Byte++
		r.Start.Column++
	}
	return r
}

// checkCallerHeader reports a header that auth does not list. It is never set, so that a rule that
// reads it decides the same for every caller.
func (c *Compiler) checkCallerHeader(name string, place diag.Range) {
	if !c.env.Authenticated || slices.Contains(c.env.CallerHeaders, name) {
		return
	}
	lower := strings.ToLower(name)
	if slices.Contains(c.env.CallerHeaders, lower) {
		c.Diags.Errorf(place, "Header not listed",
			`Names of headers are written in lower case: caller.headers["%s"], or ['%[1]s'] in a program.`, lower)
		return
	}
	c.Diags.Errorf(place, "Header not listed", "The auth block does not list the header %q, so it is never set. "+
		"Write headers = [%q] in auth if the sender of the header can be trusted.", name, lower)
}
