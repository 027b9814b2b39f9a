package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// scrubberAlone are the functions of a call that remove secrets and detect nothing, by what they write.
var scrubberAlone = map[string][]string{
	"data, names and files of the author": {
		"call.contents", "call.fileContents", "call.serveDocument", "result.base64", "result.appendUpstream",
	},
	"records and logs": {
		"call.LogFailure", "call.ScrubForReader", "call.AuditedCaller", "call.recordIdentities", "call.addCredentials",
		"call.flush", "call.hide", "call.enqueueNotifications",
	},
	"what a person reads to decide, or writes": {"call.confirmationQuestion", "call.readBefore", "call.awaitOperator"},
}

// TestAnswersAreRedactedInOnePlace finds what is sent without result.Redactor: a way out that removes secrets but
// detects nothing, or the other way round.
func TestAnswersAreRedactedInOnePlace(t *testing.T) {
	unused := slices.Concat(scrubberAlone["data, names and files of the author"], scrubberAlone["records and logs"],
		scrubberAlone["what a person reads to decide, or writes"])
	listed := slices.Clone(unused)
	set := token.NewFileSet()
	for _, name := range goFiles(t) {
		inCalls := strings.HasPrefix(name, "runtime/call/") || strings.HasPrefix(name, "runtime/stage/")
		if !inCalls || strings.HasSuffix(name, "_test.go") || name == "runtime/stage/result/redact.go" {
			continue
		}
		file, err := parser.ParseFile(set, filepath.Join(moduleRoot, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			at := file.Name.Name + "." + f.Name.Name
			ast.Inspect(f, func(n ast.Node) bool {
				switch removerOf(n) {
				case "detect", "detector":
					t.Errorf("%s: %s detects on its own: use result.Redactor", set.Position(n.Pos()), at)
				case "scrubber":
					unused = slices.DeleteFunc(unused, func(name string) bool { return name == at })
					if !slices.Contains(listed, at) {
						t.Errorf("%s: %s detects nothing: use result.Redactor", set.Position(n.Pos()), at)
					}
				}
				return true
			})
		}
	}
	for _, at := range unused {
		t.Errorf("%s removes nothing any more", at)
	}
}

// removerOf returns the name, in lower case, of what a call removes parts of a text with; empty for another node.
func removerOf(n ast.Node) string {
	c, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	method, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Text", "Bytes", "JSON"}, method.Sel.Name) {
		return ""
	}
	switch of := method.X.(type) {
	case *ast.Ident:
		return strings.ToLower(of.Name)
	case *ast.SelectorExpr:
		return strings.ToLower(of.Sel.Name)
	}
	return ""
}
