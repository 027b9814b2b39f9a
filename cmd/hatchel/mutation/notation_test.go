package mutation

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/internal/sampletest"
)

// edit is a replacement of a range of a text.
type edit struct {
	from, to int
	with     string
}

func apply(text string, edits []edit) string {
	sort.Slice(edits, func(i, j int) bool { return edits[i].from > edits[j].from })
	end := len(text) + 1
	for _, e := range edits {
		if e.to <= end { // an edit inside of another one is left out
			text, end = text[:e.from]+e.with+text[e.to:], e.from
		}
	}
	return text
}

// roots are the names of values that references begin with.
var roots = []string{"input", "local", "var", "secret", "caller", "step", "output", "each", "event", "tool"}

// notation is a way to write a reference. Name is nil for a language that does not have it.
type notation struct {
	name     string
	hcl      func(root, member string) string
	program  func(root, member string) string
	atLeasts int // references that are rewritten so in the whole corpus
}

var notations = []notation{
	{`a["b"]`, func(root, member string) string { return fmt.Sprintf("%s[%q]", root, member) },
		func(root, member string) string { return fmt.Sprintf("%s['%s']", root, member) }, 200},
	{`a?.b`, nil, func(root, member string) string { return root + "?." + member }, 50},
	{`(a).b`, func(root, member string) string { return fmt.Sprintf("(%s).%s", root, member) },
		func(root, member string) string { return fmt.Sprintf("(%s).%s", root, member) }, 50},
	{`a . b`, func(root, member string) string { return root + " . " + member },
		func(root, member string) string { return root + " . " + member }, 200},
}

// programs are the arguments that are programs in quotes.
var programs = []string{"allow", "deny", "approve", "when", "that", "until", "result"}

var (
	member    = regexp.MustCompile(`\b([a-z]+)\.([a-z_][a-z_0-9]*)`)
	literals  = regexp.MustCompile(`'[^']*'|"[^"]*"|//[^\n]*`)
	templates = regexp.MustCompile(`[$%]\{`)
)

// references returns an edit for each reference of a file.
func references(text string, n notation) (edits []edit) {
	file, diags := hclsyntax.ParseConfig([]byte(text), "", hclv2.InitialPos)
	if diags.HasErrors() {
		return nil
	}
	inPrograms := map[int]bool{}
	hclsyntax.VisitAll(file.Body.(*hclsyntax.Body), func(node hclsyntax.Node) hclv2.Diagnostics {
		switch node := node.(type) {
		case *hclsyntax.Attribute:
			source := text[node.Expr.Range().Start.Byte:node.Expr.Range().End.Byte]
			if t, ok := node.Expr.(*hclsyntax.TemplateExpr); ok && slices.Contains(programs, node.Name) &&
				!templates.MatchString(source) && !inPrograms[t.Range().Start.Byte] {
				inPrograms[t.Range().Start.Byte] = true
				edits = append(edits, inProgram(source, t.Range().Start.Byte, n)...)
			}
		case *hclsyntax.ScopeTraversalExpr:
			if len(node.Traversal) < 2 || n.hcl == nil || !slices.Contains(roots, node.Traversal.RootName()) {
				break
			}
			if step, ok := node.Traversal[1].(hclv2.TraverseAttr); ok {
				at := node.Traversal[0].SourceRange()
				edits = append(edits, edit{at.Start.Byte, step.SrcRange.End.Byte, n.hcl(node.Traversal.RootName(), step.Name)})
			}
		}
		return nil
	})
	return edits
}

// inProgram returns the edits of a program.
func inProgram(source string, at int, n notation) (edits []edit) {
	var hidden string
	if strings.HasPrefix(source, "<<") {
		hidden = literals.ReplaceAllStringFunc(source[1:], func(s string) string { return strings.Repeat(" ", len(s)) })
	} else { // the text is in quotes, those in it are escaped
		inner := source[1 : len(source)-1]
		hidden = literals.ReplaceAllStringFunc(inner, func(s string) string { return strings.Repeat(" ", len(s)) })
	}
	for _, m := range member.FindAllStringSubmatchIndex(hidden, -1) {
		root, name := hidden[m[2]:m[3]], hidden[m[4]:m[5]]
		before := strings.TrimRight(hidden[:m[0]], " ")
		if slices.Contains(roots, root) && !strings.HasSuffix(before, ".") && !strings.HasSuffix(before, "let") {
			edits = append(edits, edit{at + 1 + m[0], at + 1 + m[1], n.program(root, name)})
		}
	}
	return edits
}

// TestTheNotationOfAReferenceMeansNothing writes every reference of every fixture in another notation, all at once:
// the lock is the same, and nothing has changed.
func TestTheNotationOfAReferenceMeansNothing(t *testing.T) {
	for _, n := range notations {
		t.Run(n.name, func(t *testing.T) {
			rewritten := 0
			for _, before := range corpus() {
				after := before.fixture
				for _, name := range before.configs() {
					if kept := loadable(after, name, references(before.files[name], n)); len(kept) > 0 {
						rewritten += len(kept)
						after = after.with(name, apply(before.files[name], kept))
					}
				}
				checkSame(t, before, after)
			}
			if rewritten < n.atLeasts {
				t.Errorf("only %d references are written so", rewritten)
			}
		})
	}
}

// loadable returns the edits of a file with which it loads. A few places take a name and no expression.
func loadable(f *fixture, name string, edits []edit) (kept []edit) {
	if len(edits) == 0 {
		return nil
	}
	if config, _ := f.with(name, apply(f.files[name], slices.Clone(edits))).load(); config != nil {
		return edits
	}
	if len(edits) == 1 {
		return nil
	}
	half := len(edits) / 2
	return append(loadable(f, name, edits[:half:half]), loadable(f, name, edits[half:])...)
}

// checkSame checks that a fixture has the same lock, and no changes, if it was edited.
func checkSame(t *testing.T, before *side, f *fixture) {
	t.Helper()
	if f == before.fixture {
		return
	}
	after := newSide(f)
	if after == nil {
		_, diags := f.load()
		t.Errorf("%s: %s: %s", f.name, diags[0].Summary, diags[0].Detail)
		return
	}
	for _, c := range after.differences(before) {
		t.Errorf("%s: %v %s %s: %s", f.name, c.Class, c.Kind, c.Place, c.Text)
	}
	if !bytes.Equal(before.lock, after.lock) {
		t.Errorf("%s: the lock is another one:\n%s", f.name, diffOf(string(before.lock), string(after.lock)))
	}
}

// layouts change how a file is laid out.
var layouts = []struct {
	name   string
	change func(text string, body *hclsyntax.Body) []edit
}{
	{"comments", func(text string, body *hclsyntax.Body) []edit {
		return atAttributes(body, func(a *hclsyntax.Attribute) []edit {
			return []edit{{a.SrcRange.Start.Byte, a.SrcRange.Start.Byte, "# a comment\n"}}
		})
	}},
	{"indentation of arguments", func(text string, body *hclsyntax.Body) []edit {
		return atAttributes(body, func(a *hclsyntax.Attribute) []edit {
			return []edit{{a.NameRange.Start.Byte, a.NameRange.Start.Byte, "   "}, {a.EqualsRange.Start.Byte, a.EqualsRange.End.Byte, "   =  "}}
		})
	}},
	{"lines of lists and objects", func(text string, body *hclsyntax.Body) []edit {
		return atNodes(body, func(n hclsyntax.Node) []edit {
			switch n := n.(type) {
			case *hclsyntax.TupleConsExpr:
				at := n.Range().Start.Byte + 1
				return []edit{{at, at, "\n\n"}}
			case *hclsyntax.ObjectConsExpr:
				at := n.Range().Start.Byte + 1
				return []edit{{at, at, "\n\n"}}
			}
			return nil
		})
	}},
	{"quotes to heredocs", func(text string, body *hclsyntax.Body) []edit {
		return atAttributes(body, func(a *hclsyntax.Attribute) []edit { return toHeredoc(text, a) })
	}},
	{"order of arguments", func(text string, body *hclsyntax.Body) (edits []edit) {
		eachBody(body, func(b *hclsyntax.Body) {
			list := make([]*hclsyntax.Attribute, 0, len(b.Attributes))
			for _, a := range b.Attributes {
				if r := a.SrcRange; r.Start.Line == r.End.Line && !strings.Contains(text[r.Start.Byte:r.End.Byte], "<<") {
					list = append(list, a)
				}
			}
			slices.SortFunc(list, func(a, b *hclsyntax.Attribute) int { return a.SrcRange.Start.Byte - b.SrcRange.Start.Byte })
			for i, a := range list {
				r := list[len(list)-1-i].SrcRange
				edits = append(edits, edit{a.SrcRange.Start.Byte, a.SrcRange.End.Byte, text[r.Start.Byte:r.End.Byte]})
			}
		})
		return edits
	}},
}

func eachBody(body *hclsyntax.Body, do func(*hclsyntax.Body)) {
	do(body)
	for _, b := range body.Blocks {
		eachBody(b.Body, do)
	}
}

func atAttributes(body *hclsyntax.Body, do func(*hclsyntax.Attribute) []edit) []edit {
	return atNodes(body, func(n hclsyntax.Node) []edit {
		if a, ok := n.(*hclsyntax.Attribute); ok {
			return do(a)
		}
		return nil
	})
}

func atNodes(body *hclsyntax.Body, do func(hclsyntax.Node) []edit) (edits []edit) {
	hclsyntax.VisitAll(body, func(n hclsyntax.Node) hclv2.Diagnostics {
		edits = append(edits, do(n)...)
		return nil
	})
	return edits
}

// toHeredoc writes a rule in quotes as a heredoc. The line break that ends it means nothing in a rule.
func toHeredoc(text string, a *hclsyntax.Attribute) []edit {
	r := a.Expr.Range()
	source := text[r.Start.Byte:r.End.Byte]
	inner, err := strconv.Unquote(source)
	if err != nil || !slices.Contains(programs, a.Name) || templates.MatchString(source) {
		return nil
	}
	return []edit{{r.Start.Byte, r.End.Byte, "<<-TEXT\n      " + inner + "\n    TEXT\n"}}
}

// TestTheLayoutMeansNothing changes the layout of every fixture: the lock is the same, and nothing has changed.
func TestTheLayoutMeansNothing(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			edited := 0
			for _, before := range sampletest.Of(t, len(corpus())/3, corpus()) {
				after := before.fixture
				for _, name := range before.configs() {
					text := before.files[name]
					file, _ := hclsyntax.ParseConfig([]byte(text), name, hclv2.InitialPos)
					if edits := loadable(after, name, l.change(text, file.Body.(*hclsyntax.Body))); len(edits) > 0 {
						edited += len(edits)
						after = after.with(name, apply(text, edits))
					}
				}
				checkSame(t, before, after)
			}
			if edited < 20 {
				t.Errorf("only %d places were changed", edited)
			}
		})
	}
}
