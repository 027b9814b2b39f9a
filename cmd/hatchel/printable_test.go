package main

import (
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ownPrintables are the functions that ask on their own which characters are printable, with the reason.
var ownPrintables = map[string]string{
	"JoinNames": "it is the notation of the lock, which stays",
	"readable":  "it tells a text from other bytes",
}

// printableTables are the functions and tables of package unicode that define what people see.
var printableTables = strings.Fields("C Cc Cf Co Cs Other Zl Zp Bidi_Control Variation_Selector IsGraphic IsPrint")

// ofHidden matches classes of a regular expression, and code points of characters that people do not see.
var ofHidden = regexp.MustCompile(`\\[pP]\{?C|0[xX](?i:202[a-e]|206[0-9]|200[b-f]|feff|fe0[0-9a-f])$`)

// TestWhatPeopleDoNotSeeIsDefinedOnce finds other definitions than that of internal/printable.
func TestWhatPeopleDoNotSeeIsDefinedOnce(t *testing.T) {
	set, files := moduleFiles(t, false)
	unused := maps.Clone(ownPrintables)
	for name, file := range files {
		if strings.HasPrefix(name, "internal/printable/") {
			continue
		}
		for _, d := range file.Decls {
			f, _ := d.(*ast.FuncDecl)
			if f != nil {
				if at := ownPrintables[f.Name.Name]; at != "" {
					delete(unused, f.Name.Name)
					continue
				}
			}
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					of, _ := n.X.(*ast.Ident)
					if of != nil && of.Name == "unicode" && slices.Contains(printableTables, n.Sel.Name) {
						t.Errorf("%s: unicode.%s: use internal/printable", set.Position(n.Pos()), n.Sel.Name)
					}
				case *ast.BasicLit:
					if n.Kind != token.CHAR && ofHidden.MatchString(n.Value) {
						t.Errorf("%s: %s: use internal/printable", set.Position(n.Pos()), n.Value)
					}
				}
				return true
			})
		}
	}
	for _, at := range slices.Sorted(maps.Keys(unused)) {
		t.Errorf("%s is no function any more", at)
	}
}

// TestTextsAreCutBetweenCharactersInOnePlace finds texts that are cut without internal/cut.
func TestTextsAreCutBetweenCharactersInOnePlace(t *testing.T) {
	set, files := moduleFiles(t, false)
	for name, file := range files {
		if strings.HasPrefix(name, "internal/cut/") {
			continue
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Name.Name == "decodeUTF8" { // the end of what has arrived
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok && isCut(c) {
					t.Errorf("%s: use internal/cut", set.Position(n.Pos()))
				}
				return true
			})
		}
	}
}

// isCut reports whether a call looks for the beginning of a character, or removes what a cut has left of one.
func isCut(c *ast.CallExpr) bool {
	switch selector(c) {
	case "utf8.RuneStart":
		return true
	case "strings.ToValidUTF8", "bytes.ToValidUTF8", "utf8.ValidString":
		text := c.Args[0]
		if conversion, ok := text.(*ast.CallExpr); ok && len(conversion.Args) == 1 {
			if to, ok := conversion.Fun.(*ast.Ident); ok && to.Name == "string" {
				text = conversion.Args[0]
			}
		}
		_, isPart := text.(*ast.SliceExpr)
		return isPart
	}
	return false
}
