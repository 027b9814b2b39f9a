package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

// logMethods are those of slog that have a context and whose callers need none.
var logMethods = map[string]bool{"Enabled": true, "Handle": true, "Log": true, "LogAttrs": true}

// ownContexts has the functions that are called without a context, and why.
var ownContexts = map[string]string{
	"pool.closeIdle": "net/http has connections closed without one",
}

func TestContextsComeFromTheCallerBelowTheCommands(t *testing.T) {
	unused := maps.Clone(ownContexts)
	for _, name := range goFiles(t) {
		isBelow := strings.HasPrefix(name, "runtime/") || strings.HasPrefix(name, "adapters/") ||
			strings.HasPrefix(name, "hcl/") || strings.HasPrefix(name, "internal/")
		if !isBelow || strings.HasSuffix(name, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join(moduleRoot, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			of := ""
			if f, ok := d.(*ast.FuncDecl); ok {
				of = strings.TrimPrefix(receiver(f)+"."+f.Name.Name, ".")
			}
			for _, at := range newContexts(d) {
				if ownContexts[of] == "" {
					t.Errorf("%s makes a context of its own, without the values and the end of its caller's", files.Position(at))
				}
				delete(unused, of)
			}
		}
	}
	for of := range unused {
		t.Errorf("%s makes no context of its own any more", of)
	}
}

// newContexts returns where a node makes a context that is not for the log.
func newContexts(node ast.Node) (found []token.Pos) {
	forLog := map[ast.Node]bool{}
	ast.Inspect(node, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if logMethods[f.Sel.Name] && len(call.Args) > 0 {
			forLog[call.Args[0]] = true
		}
		p, ok := f.X.(*ast.Ident)
		isNew := ok && p.Name == "context" && (f.Sel.Name == "Background" || f.Sel.Name == "TODO")
		if isNew && !forLog[call] {
			found = append(found, call.Pos())
		}
		return true
	})
	return found
}

func TestNewContextsAreFoundAndThoseOfTheLogAreNot(t *testing.T) {
	const src = `package p

func f() {
	log.LogAttrs(context.Background(), level, "text")
	ctx, cancel := context.WithCancel(context.Background())
	g(context.TODO(), h(context.WithoutCancel(ctx)))
}`
	file, err := parser.ParseFile(token.NewFileSet(), "a.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(newContexts(file)); n != 2 {
		t.Errorf("%d found, want 2", n)
	}
}
