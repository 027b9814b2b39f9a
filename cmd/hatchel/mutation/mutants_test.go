package mutation

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl"
	"hatchel/hcl/surface"
)

// mutant is a fixture with one change.
type mutant struct {
	what string
	file string
	text string
}

// mutator collects the mutants of one file.
type mutator struct {
	file, text string
	mutants    []mutant
}

// replace adds a mutant with another text in a range.
func (m *mutator) replace(what string, from, to int, with string) {
	if m.text[from:to] != with {
		m.mutants = append(m.mutants, mutant{what, m.file, m.text[:from] + with + m.text[to:]})
	}
}

// mutantsOf returns all mutants of a fixture: each argument and each nested block removed, each literal changed,
// white space in literals and in heredocs changed, lines joined, members and arguments added.
func mutantsOf(f *fixture) []mutant {
	var all []mutant
	for _, name := range f.configs() {
		file, diags := hclsyntax.ParseConfig([]byte(f.files[name]), name, hclv2.InitialPos)
		if diags.HasErrors() {
			continue
		}
		m := &mutator{file: name, text: f.files[name]}
		m.body(file.Body.(*hclsyntax.Body), "")
		all = append(all, m.mutants...)
	}
	return all
}

func (m *mutator) body(body *hclsyntax.Body, path string) {
	for _, name := range sortedAttributes(body) {
		a := body.Attributes[name]
		at := path + "." + name
		m.replace("remove "+at, a.SrcRange.Start.Byte, a.SrcRange.End.Byte, "")
		m.expression(a.Expr, at)
	}
	for i, b := range body.Blocks {
		at := strings.TrimPrefix(path+" "+strings.Join(append([]string{b.Type}, b.Labels...), " "), " ")
		if path != "" {
			m.replace("remove "+at, b.TypeRange.Start.Byte, b.CloseBraceRange.End.Byte, "")
		}
		// the order may mean something, but for questions, which are asked at once
		if i > 0 && path != "" && body.Blocks[i-1].Type == b.Type && b.Type != "ask" {
			before := body.Blocks[i-1]
			first := m.text[before.TypeRange.Start.Byte:before.CloseBraceRange.End.Byte]
			between := m.text[before.CloseBraceRange.End.Byte:b.TypeRange.Start.Byte]
			second := m.text[b.TypeRange.Start.Byte:b.CloseBraceRange.End.Byte]
			m.replace("swap "+at, before.TypeRange.Start.Byte, b.CloseBraceRange.End.Byte, second+between+first)
		}
		m.body(b.Body, at)
	}
}

func sortedAttributes(body *hclsyntax.Body) []string {
	var names []string
	for name := range body.Attributes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

var (
	word  = regexp.MustCompile(`[A-Za-z0-9_]+`)
	space = regexp.MustCompile(`[^\s] [^\s]`)
)

// expression adds the mutants of an expression.
func (m *mutator) expression(e hclsyntax.Expression, at string) {
	hclsyntax.VisitAll(e, func(n hclsyntax.Node) hclv2.Diagnostics {
		r := n.Range()
		switch n := n.(type) {
		case *hclsyntax.LiteralValueExpr:
			m.literal(r.Start.Byte, r.End.Byte, at)
		case *hclsyntax.ObjectConsExpr:
			m.replace("add a member to "+at, r.Start.Byte+1, r.Start.Byte+1, " BYPASS_CHECKS = \"1\", ")
			for _, item := range n.Items {
				key, value := item.KeyExpr.Range(), item.ValueExpr.Range()
				m.replace("rename a member of "+at, key.Start.Byte, key.End.Byte, "api_key_url")
				m.replace("remove a member of "+at, key.Start.Byte, value.End.Byte, "")
			}
		case *hclsyntax.TupleConsExpr:
			m.replace("add an element to "+at, r.Start.Byte+1, r.Start.Byte+1, "\"added\", ")
			if len(n.Exprs) > 1 {
				first := n.Exprs[0].Range()
				m.replace("remove an element of "+at, first.Start.Byte, n.Exprs[1].Range().Start.Byte, "")
			}
		case *hclsyntax.ScopeTraversalExpr:
			if len(n.Traversal) > 1 {
				m.replace("another reference in "+at, r.Start.Byte, r.End.Byte, "caller.subject")
			}
		case *hclsyntax.ConditionalExpr:
			yes, no := n.TrueResult.Range(), n.FalseResult.Range()
			if yes.End.Byte <= no.Start.Byte && !strings.Contains(m.text[r.Start.Byte:r.End.Byte], "%{") {
				m.replace("only one result of "+at, yes.Start.Byte, no.End.Byte,
					m.text[no.Start.Byte:no.End.Byte]+" : "+m.text[yes.Start.Byte:yes.End.Byte])
			}
		}
		return nil
	})
}

// literal adds the mutants of a literal: a word of it is another one, white space in it is more, a line is indented,
// and what follows a comment joins it.
func (m *mutator) literal(from, to int, at string) {
	text := m.text[from:to]
	switch text {
	case "true":
		m.replace(at, from, to, "false")
		return
	case "false":
		m.replace(at, from, to, "true")
		return
	}
	for _, w := range word.FindAllStringIndex(text, -1) {
		if old := text[w[0]:w[1]]; strings.Trim(old, "0123456789") == "" {
			m.replace("another number in "+at, from+w[0], from+w[1], old+"0")
		} else {
			m.replace("another word in "+at, from+w[0], from+w[1], old+"x")
			m.replace("no word in "+at, from+w[0], from+w[1], "")
		}
	}
	for _, s := range space.FindAllStringIndex(text, -1) {
		m.replace("white space in "+at, from+s[0]+1, from+s[0]+2, "  ")
	}
	for i := range text {
		if text[i] == '\n' && i+1 < len(text) {
			m.replace("indentation in "+at, from+i+1, from+i+1, "    ")
			m.replace("joined lines in "+at, from+i, from+i+1, " ")
			m.replace("a comment in "+at, from+i, from+i, " // a comment")
		}
	}
	for _, pair := range [][2]string{{" AND ", " OR "}, {" and ", " or "}, {"==", "!="}, {"<", "<="}, {">", ">="}} {
		if i := strings.Index(text, pair[0]); i >= 0 {
			m.replace("an operator in "+at, from+i, from+i+len(pair[0]), pair[1])
		}
	}
}

// maxSampled is how many mutants of a fixture a short run judges.
const maxSampled = 25

// sample returns the mutants that a run judges: all of them, or some that are the same in every run.
func sample(f *fixture, all []mutant) []mutant {
	if full || len(all) <= maxSampled {
		return all
	}
	seed := fnv.New64()
	fmt.Fprint(seed, f.name)
	r := rand.New(rand.NewPCG(seed.Sum64(), 2))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:maxSampled]
}

// TestNoChangeOfBehaviourIsWithoutADifference judges mutants. If neither the surface nor the lock of one differs, the
// plans of 200 calls are the same. If a tool that writes would send something else than before, its change is
// widening.
func TestNoChangeOfBehaviourIsWithoutADifference(t *testing.T) {
	eachFixture(t, func(t *testing.T, before *side) {
		calls := plannedCalls(before)
		dir := t.TempDir()
		if err := os.Mkdir(dir+"/conf", 0o700); err != nil {
			t.Fatal(err)
		}
		plans, err := plan(dir, before.config, calls)
		if err != nil {
			t.Fatalf("it cannot be planned: %v", err)
		}
		judged := 0
		for _, m := range sample(before.fixture, mutantsOf(before.fixture)) {
			after := newSide(before.with(m.file, m.text))
			if after == nil {
				continue
			}
			judged++
			judge(t, dir, before, after, m, calls, plans)
		}
		t.Logf("%d mutants", judged)
	})
}

// judge compares the differences of a mutant with its plans.
func judge(t *testing.T, dir string, before, after *side, m mutant, calls []plannedCall, plans []string) {
	t.Helper()
	changes := after.differences(before)
	isSerious := func(c surface.Change) bool { return c.Class >= surface.Widening }
	if slices.ContainsFunc(changes, isSerious) {
		return
	}
	if len(changes) == 0 && !bytes.Equal(before.lock, after.lock) && !meaningless.MatchString(m.what) {
		t.Errorf("%s: the locks differ, and there is no change\n%s", m.what, diffOf(before.files[m.file], m.text))
	}
	if len(changes) > 0 && !before.acts() {
		return
	}
	got, err := plan(dir, after.config, calls)
	if err != nil {
		if len(changes) == 0 {
			t.Errorf("%s: there is no change, and it cannot be served: %v", m.what, err)
		}
		return
	}
	for i := range got {
		if got[i] == plans[i] {
			continue
		}
		tool := before.surface.Tools[calls[i].tool]
		isRefused := strings.HasPrefix(got[i], "refused: ")
		acts := tool != nil && !tool.Annotations.ReadOnly && !isRefused && !narrowing.MatchString(m.what)
		if len(changes) == 0 || acts {
			t.Errorf("%s: %s with %s has only %v\n%s\nbefore: %s\nafter:  %s", m.what, calls[i].tool, calls[i].arguments,
				changes, diffOf(before.files[m.file], m.text), plans[i], got[i])
			return
		}
	}
}

// meaningless matches mutants that the lock shows and that change nothing for callers: the version, and the members of
// a JSON Schema that say the same in another way.
var meaningless = regexp.MustCompile(`server\.version$|\.schema$`)

// narrowing matches mutants that may change a plan and do no more: texts that people read, the order of rows, and blocks
// that are removed.
var narrowing = regexp.MustCompile(`\.message$|\.query$|^remove .* (?:step|sql|shell|file|sandbox)\b[^.]*$`)

// acts reports whether a tool may change something.
func (s *side) acts() bool {
	return slices.ContainsFunc(s.config.Tools, func(t *hcl.Tool) bool { return !t.ReadOnly })
}

// diffOf returns the lines in which two texts differ.
func diffOf(a, b string) string {
	old, new := strings.Split(a, "\n"), strings.Split(b, "\n")
	for len(old) > 0 && len(new) > 0 && old[0] == new[0] {
		old, new = old[1:], new[1:]
	}
	for len(old) > 0 && len(new) > 0 && old[len(old)-1] == new[len(new)-1] {
		old, new = old[:len(old)-1], new[:len(new)-1]
	}
	return "- " + strings.Join(old, "\n- ") + "\n+ " + strings.Join(new, "\n+ ")
}
