package editor

import (
	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/syntax"
)

// File is one parsed file. It is immutable. Body holds what the parser understood when the text has mistakes.
type File struct {
	Name string // relative to the configuration directory
	*Text
	Body  *hclsyntax.Body
	Diags diag.Diagnostics // of the syntax
}

// Parse parses a file.
func Parse(name string, src []byte) *File {
	f := &File{Name: name, Text: NewText(src)}
	f.Body, f.Diags = syntax.Parse(name, src)
	return f
}

// Broken reports whether the text has a syntax error.
func (f *File) Broken() bool { return f.Diags.HasErrors() }

var startOfFile = hclv2.InitialPos

func format(f *File) ([]byte, diag.Diagnostics) { return syntax.Format(f.Name, f.Src) }
