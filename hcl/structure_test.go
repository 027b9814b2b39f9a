package hcl_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"hatchel/adapters/all"
	. "hatchel/hcl"
	"hatchel/hcl/decode"
)

// summariesAt are the functions of this package that report something, and which of their arguments is the summary.
var summariesAt = map[string]int{"errorf": 1, "warnf": 1, "Errorf": 1, "Warnf": 1, "fail": 0}

// summaries are all summaries that stand in the sources of this package. One that ends with a space is completed by the noun of what it is about.
func summaries(t *testing.T) map[string]string {
	found := map[string]string{}
	var files []string
	for _, folder := range []string{".", "decode", "eval/hclexpr", "syntax"} {
		in, err := filepath.Glob(folder + "/*.go")
		if err != nil || len(in) == 0 {
			t.Fatalf("no sources in %s: %v", folder, err)
		}
		files = append(files, in...)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		note := func(e ast.Expr) {
			if sum, ok := e.(*ast.BinaryExpr); ok {
				e = sum.X
			}
			if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				found[text] = set.Position(lit.Pos()).String()
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				called := ""
				switch fun := n.Fun.(type) {
				case *ast.SelectorExpr:
					called = fun.Sel.Name
				case *ast.Ident:
					called = fun.Name
				}
				if at, ok := summariesAt[called]; ok && len(n.Args) > at+1 {
					note(n.Args[at])
				}
				if called == "ToDiagnostics" {
					note(n.Args[1])
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Summary" {
					note(n.Value)
				}
			case *ast.AssignStmt:
				for i, l := range n.Lhs {
					if sel, ok := l.(*ast.SelectorExpr); ok && sel.Sel.Name == "Summary" && i < len(n.Rhs) {
						note(n.Rhs[i])
					}
				}
			}
			return true
		})
	}
	return found
}

func TestASummaryHasTwoToSixWords(t *testing.T) {
	all := summaries(t)
	if len(all) < 60 {
		t.Fatalf("only %d summaries were found in the sources", len(all))
	}
	for summary, place := range all {
		if n := len(strings.Fields(summary)); !strings.HasSuffix(summary, " ") && (n < 2 || n > 6) {
			t.Errorf("%s: %q has %d words", place, summary, n)
		}
	}
}

var goErrorText = regexp.MustCompile(`strconv\.|json: |cannot unmarshal|invalid syntax|runtime error|open .*: no such file|%!|<nil>|\*?hclsyntax\.|cty\.|map\[|0x[0-9a-f]{6}|unexpected EOF|error parsing regexp`)

func TestNoGoldenShowsAGoErrorText(t *testing.T) {
	for _, name := range archives(t) {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, want, _ := strings.Cut(string(src), "-- want --\n")
		for line := range strings.Lines(want) {
			if bad := goErrorText.FindString(line); bad != "" && strings.Contains(line, "     = ") {
				t.Errorf("%s: %q in %s", name, bad, line)
			}
		}
	}
}

func TestEveryArgumentIsDocumented(t *testing.T) {
	for _, ref := range Reference(all.Set().Kinds()) {
		documented(t, ref.Key, ref.Spec)
	}
}

func documented(t *testing.T, block string, spec decode.Spec) {
	for _, f := range spec {
		if f.Doc == "" || f.Type == "" && f.DecodeAttr != nil {
			t.Errorf("%s: %s has no documentation or no type", block, f.Name)
		}
		documented(t, block+" "+f.Name, f.Nested())
	}
}

func TestADocumentedDefaultIsTheDefault(t *testing.T) {
	checked := 0
	for _, ref := range Reference(all.Set().Kinds()) {
		for _, f := range ref.Spec {
			f.Default = strings.Trim(f.Default, `"`)
			if f.Name == "max_readers" {
				continue // depends on the machine
			}
			var is, documented any
			switch dst := f.Target.(type) {
			case *bool:
				is, documented = *dst, f.Default == "true"
			case *int:
				n, _ := strconv.Atoi(f.Default)
				is, documented = *dst, n
			case *time.Duration:
				d, _ := time.ParseDuration(f.Default)
				is, documented = *dst, d
			case *decode.Size:
				is, documented = strings.ReplaceAll(dst.String(), " ", ""), f.Default
				if *dst == 0 {
					is = ""
				}
			default:
				continue
			}
			if reflect.ValueOf(is).IsZero() {
				continue // it is filled in after the block was decoded
			}
			checked++
			if is != documented {
				t.Errorf("%s: %s is %v when it is not written, and is documented as %q", ref.Key, f.Name, is, f.Default)
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d defaults were found", checked)
	}
}
