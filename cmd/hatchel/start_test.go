package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoRegularExpressionIsCompiledWhenTheProgramStarts: each process pays for what a package-level variable computes,
// also one that only prints its version. internal/lazyregexp compiles a regular expression when it is first used.
func TestNoRegularExpressionIsCompiledWhenTheProgramStarts(t *testing.T) {
	for _, name := range goFiles(t) {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(path.Dir(name), "test") ||
			strings.HasPrefix(name, "cmd/hatchel-bench/") || strings.HasPrefix(name, ".") {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join(moduleRoot, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range compiledAtStart(file) {
			t.Errorf("%s compiles a regular expression when the program starts; write lazyregexp.New", files.Position(at))
		}
	}
}

// compiledAtStart returns where the package-level variables of a file compile regular expressions.
func compiledAtStart(file *ast.File) (found []token.Pos) {
	visit := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.SelectorExpr:
			p, ok := n.X.(*ast.Ident)
			if ok && p.Name == "regexp" && (n.Sel.Name == "MustCompile" || n.Sel.Name == "Compile") {
				found = append(found, n.Pos())
			}
		}
		return true
	}
	for _, d := range file.Decls {
		if vars, ok := d.(*ast.GenDecl); ok && vars.Tok == token.VAR {
			ast.Inspect(vars, visit)
		}
	}
	return found
}

func TestExpressionsOfVariablesAreFoundAndThoseOfFunctionsAreNot(t *testing.T) {
	const src = `package p

var a, b = regexp.MustCompile("a"), 1
var table = []struct{ re *regexp.Regexp }{{regexp.MustCompile("b")}}
var lazy = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("c") })

func f() { regexp.MustCompile("d") }
`
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	if found := compiledAtStart(file); len(found) != 2 {
		t.Errorf("found %d expressions, want 2", len(found))
	}
}
