package editor

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/schema"
	"hatchel/hcl/syntax"
)

// word is a word of an example that an author could have let the editor complete.
type word struct {
	what     string // argument, block, label, root, member, function, type
	from, to int
}

// labelled are the blocks whose label names a connection or a tool.
var labelled = append(all.Set().Kinds().Mocked(), "tool")

// wordsOf returns the words of a file that are not new names: arguments, blocks, labels that refer to connections and
// tools, functions, types, and the parts of traversals, in HCL and in expr programs.
func wordsOf(src []byte, programs map[string]bool) (all []word) {
	body, diags := syntax.Parse("", src)
	if diags.HasErrors() {
		return nil
	}
	var visit func(b *hclsyntax.Body, around string, depth int)
	add := func(what string, r hclv2.Range) { all = append(all, word{what, r.Start.Byte, r.End.Byte}) }
	visit = func(b *hclsyntax.Body, around string, depth int) {
		for _, n := range b.Blocks {
			add("block", n.TypeRange)
			refers := depth > 0 && slices.Contains(labelled, n.Type) &&
				around != "after" || n.Type == "connection" // an after block reads a mock of its test
			if refers && len(n.LabelRanges) > 0 {
				r := n.LabelRanges[0]
				all = append(all, word{"label", r.Start.Byte + 1, r.End.Byte - 1})
			}
			visit(n.Body, n.Type, depth+1)
		}
		for _, a := range b.Attributes {
			if around != "locals" {
				add("argument", a.NameRange)
			}
			isType := around == "input" && a.Name == "type" || a.Name == "returns" || a.Name == "is"
			r := a.Expr.Range()
			if text, ok := strings.CutPrefix(string(r.SliceBytes(src)), `"`); ok && programs[a.Name] &&
				!strings.Contains(text, "${") {
				all = append(all, wordsOfProgram(text, r.Start.Byte+1)...)
				continue
			}
			hclsyntax.VisitAll(a.Expr, func(n hclsyntax.Node) hclv2.Diagnostics {
				switch e := n.(type) {
				case *hclsyntax.ScopeTraversalExpr:
					if isType {
						add("type", e.Traversal[0].SourceRange())
						return nil
					}
					for i, step := range e.Traversal {
						switch s := step.(type) {
						case hclv2.TraverseRoot:
							add("root", s.SrcRange)
						case hclv2.TraverseAttr:
							all = append(all, word{"member", s.SrcRange.End.Byte - len(s.Name), s.SrcRange.End.Byte})
						default:
							_ = i
						}
					}
				case *hclsyntax.FunctionCallExpr:
					add(map[bool]string{true: "type", false: "function"}[isType], e.NameRange)
				case *hclsyntax.ObjectConsKeyExpr:
					if t, ok := e.Wrapped.(*hclsyntax.ScopeTraversalExpr); ok { // a new name
						at := t.Range().Start.Byte
						all = slices.DeleteFunc(all, func(w word) bool { return w.from == at })
						all = append(all, word{"key", at, t.Range().End.Byte})
					}
				}
				return nil
			})
		}
	}
	visit(body, "", 0)
	seen := map[int]bool{}
	all = slices.DeleteFunc(all, func(w word) bool {
		key := string(src[w.from:w.to])
		drop := seen[w.from] || w.what == "key" || key == "true" || key == "false" || key == "null"
		seen[w.from] = true
		return drop
	})
	sort.Slice(all, func(i, j int) bool { return all[i].from < all[j].from })
	return all
}

var programWord = regexp.MustCompile(`'[^']*'|[#.]?[A-Za-z_][A-Za-z0-9_]*\(?`)

func wordsOfProgram(text string, at int) (all []word) {
	end := strings.IndexByte(text, '"')
	if end < 0 {
		return nil
	}
	lets := regexp.MustCompile(`let ([a-z_]+)`).FindAllStringSubmatch(text[:end], -1)
	for _, m := range programWord.FindAllStringIndex(text[:end], -1) {
		name := text[m[0]:m[1]]
		what := "root"
		switch {
		case strings.HasPrefix(name, "'") || strings.HasPrefix(name, "#"):
			continue
		case strings.HasPrefix(name, "."):
			what, name = "member", name[1:]
			m[0]++
		case strings.HasSuffix(name, "("):
			what, name = "function", strings.TrimSuffix(name, "(")
			m[1]--
		}
		if slices.Contains([]string{"in", "not", "and", "or", "let", "true", "false", "null", "nil", "contains", "matches",
			"startsWith", "endsWith"}, name) || strings.HasSuffix(text[:m[0]], "{") ||
			strings.HasPrefix(text[m[1]:], ":") && what == "root" {
			continue
		}
		if slices.ContainsFunc(lets, func(l []string) bool { return l[1] == name }) {
			continue
		}
		all = append(all, word{what, at + m[0], at + m[1]})
	}
	return all
}

// programArguments returns the names of the arguments that are expr programs.
func programArguments(l *Language) map[string]bool {
	names := map[string]bool{}
	var visit func(spec decode.Spec, depth int)
	visit = func(spec decode.Spec, depth int) {
		for _, f := range spec {
			if strings.HasPrefix(f.Type, "expr") {
				names[f.Name] = true
			}
			if depth < 4 {
				visit(f.Nested(), depth+1)
			}
		}
	}
	for _, k := range l.kindsOf {
		visit(k.Spec, 0)
	}
	return names
}

// exampleFolders returns the example directories and their .hcl files.
func exampleFolders(tb testing.TB) map[string][]string {
	folders := map[string][]string{}
	err := filepath.WalkDir("../../../examples", func(name string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(name) == ".hcl" && !strings.Contains(name, "testdata") {
			rel, _ := filepath.Rel("../../../examples", name)
			dir, _, _ := strings.Cut(rel, string(filepath.Separator))
			if own, _ := filepath.Glob(filepath.Join("../../../examples", dir, "*.hcl")); len(own) == 0 {
				dir = filepath.Dir(rel) // of a deployment, which may have several configurations
			}
			folders[dir] = append(folders[dir], name)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return folders
}

func loadFolder(tb testing.TB, dir string) *hcl.Config {
	cfg, diags := hcl.Load(os.DirFS(dir), all.Set().Kinds(), hcl.Options{Dir: "/nowhere"}.ForEditor(func(string) decode.Observer { return nil }))
	for _, d := range diags {
		if d.Severity == hcl.Error && d.Code != diag.MissingVariable {
			tb.Fatalf("%s: %s: %s", dir, d.Summary, d.Detail)
		}
	}
	return cfg
}

// unknowable reports whether nothing is known of the members at a place, because they come from outside at run time.
func unknowable(l *Language, cfg *hcl.Config, src []byte, offset int) bool {
	f := probe(cfg, readCursor(src, offset, l.topLevel))
	return f.place != nil && f.place.Roots == nil && f.place.Root == nil &&
		!slices.Contains([]schema.Kind{schema.Object, schema.File}, f.place.Type.Kind) ||
		f.place != nil && f.place.Type != nil && f.place.Type.Open
}

// Every word of the examples that is no new name is deleted in turn, and must be proposed. Members of values that only a
// call knows, such as the body of a response, do not count.
func TestADeletedWordIsProposed(t *testing.T) {
	l := NewLanguage(all.Set().Kinds())
	programs := programArguments(l)
	counted, hit, unknown := map[string]int{}, map[string]int{}, 0
	var missed []string
	for dir, files := range exampleFolders(t) {
		cfg := loadFolder(t, filepath.Join("../../../examples", dir))
		for _, name := range files {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range wordsOf(src, programs) {
				text := string(src[w.from:w.to])
				without := slices.Concat(src[:w.from], src[w.to:])
				if w.what == "member" && unknowable(l, cfg, without, w.from) {
					unknown++
					continue
				}
				counted[w.what]++
				items := l.Complete(cfg, without, w.from, nil).Items
				at := slices.IndexFunc(items, func(i Item) bool { return i.Label == text })
				if at >= 0 {
					hit[w.what]++
					continue
				}
				var first []string
				for _, i := range items[:min(5, len(items))] {
					first = append(first, i.Label)
				}
				line := 1 + strings.Count(string(src[:w.from]), "\n")
				missed = append(missed, fmt.Sprintf("%s %s:%d %s: is none of %d, such as %v", w.what, name, line, text,
					len(items), first))
			}
		}
	}
	words, hits := 0, 0
	for what, n := range counted {
		words, hits = words+n, hits+hit[what]
		t.Logf("%-9s %4d of %4d", what, hit[what], n)
	}
	t.Logf("%d of %d words, %d members of values that only a call knows", hits, words, unknown)
	sort.Strings(missed)
	if words < 300 || len(missed) > 0 {
		t.Errorf("%d of %d words are proposed, and all of at least 300 must be:\n%s", hits, words,
			strings.Join(missed, "\n"))
	}
}
