package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// wordFunctions are the functions that find something in a text.
var wordFunctions = []string{"Contains", "ContainsAny", "HasPrefix", "HasSuffix", "Cut", "CutPrefix", "CutSuffix",
	"EqualFold", "Index", "IndexByte", "LastIndex", "Split", "SplitN", "Fields", "TrimPrefix", "TrimSuffix", "MatchString",
	"FindString", "FindStringSubmatch", "FindStringIndex"}

// parserWords are the files that read the words of other programs and libraries, which have no codes for them.
var parserWords = []string{"hcl/syntax/syntax.go", "hcl/syntax/syntax_hints.go", "adapters/sql/fault.go"}

// TestNothingReadsTheWordsOfDiagnostics finds comparisons of a summary or a detail with a text, and searches in one.
// What a program does about a diagnostic depends on its Code. Two diagnostics may be compared with each other.
func TestNothingReadsTheWordsOfDiagnostics(t *testing.T) {
	set, files := moduleFiles(t, false)
	for name, file := range files {
		if slices.Contains(parserWords, name) || strings.HasPrefix(name, "cmd/hatchel/importer/") {
			continue // an importer reports losses
		}
		for _, at := range wordReaders(file) {
			t.Errorf("%s: this depends on the words of a diagnostic. Use its Code", set.Position(at))
		}
	}
}

func TestReadersOfWordsAreFound(t *testing.T) {
	for body, want := range map[string]int{
		`_ = d.Summary == "x"`: 1, `_ = "x" != all[0].Detail`: 1, `switch d.Summary { case "x": }`: 1,
		`_ = strings.HasPrefix(d.Summary, "x")`: 1, `_, _, _ = strings.Cut(d.Detail, "x")`: 1, `_ = table[d.Summary]`: 1,
		`_ = pattern.MatchString(d.Summary + d.Detail)`: 1, `_ = slices.Contains(list, d.Summary)`: 1,
		`_ = a.Summary == b.Summary`: 0, `_ = d.Detail == ""`: 0, `_ = d.Code == diag.Unused`: 0,
		`_ = strings.ToLower(d.Summary)`: 0, `print(d.Summary + ": " + d.Detail)`: 0,
	} {
		src := "package p\nfunc f() { " + body + " }\n"
		file, err := parser.ParseFile(token.NewFileSet(), "a.go", src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(wordReaders(file)); got != want {
			t.Errorf("%s: got %d, want %d", body, got, want)
		}
	}
}

func wordReaders(file *ast.File) (found []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op != token.EQL && n.Op != token.NEQ {
				return true
			}
			text, isText := n.X.(*ast.BasicLit)
			if !isText {
				text, isText = n.Y.(*ast.BasicLit)
			}
			if x, y := hasWords(n.X), hasWords(n.Y); x != y && (!isText || text.Value != `""`) {
				found = append(found, n.Pos())
			}
		case *ast.SwitchStmt:
			if n.Tag != nil && hasWords(n.Tag) {
				found = append(found, n.Pos())
			}
		case *ast.IndexExpr:
			if hasWords(n.Index) {
				found = append(found, n.Pos())
			}
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.SelectorExpr)
			if ok && slices.Contains(wordFunctions, f.Sel.Name) && slices.ContainsFunc(n.Args, hasWords) {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}

// hasWords reports whether an expression is made of a summary or a detail.
func hasWords(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name == "Summary" || e.Sel.Name == "Detail"
	case *ast.BinaryExpr:
		return e.Op == token.ADD && (hasWords(e.X) || hasWords(e.Y))
	case *ast.ParenExpr:
		return hasWords(e.X)
	}
	return false
}
