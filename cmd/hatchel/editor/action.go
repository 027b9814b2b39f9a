package editor

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/syntax"
	"hatchel/internal/cut"
)

// Action is a change of a file that its author may want.
type Action struct {
	Title string
	Edits []Edit           // of the file
	Of    *diag.Diagnostic // that it corrects; nil for a change that corrects nothing
}

// Actions returns the changes that may be wanted where a span of a file is: corrections of what was reported there, and
// the extraction of a type. The load must be of the text of the file.
func (p *Project) Actions(f *File, s Span) (all []Action) {
	for _, d := range p.Diags {
		if d.Subject.File != f.Name || d.Subject.End.Byte < s.From || s.To < d.Subject.Start.Byte {
			continue
		}
		for _, a := range []*Action{correction(f, d), p.missingArgument(f, d), missingInput(f, d)} {
			if a != nil {
				a.Of = d
				all = append(all, *a)
			}
		}
	}
	at := p.At(f, s.From)
	for _, a := range []*Action{p.extractType(f, at), withoutQuotes(f, at)} {
		if a != nil {
			all = append(all, *a)
		}
	}
	return all
}

const maxTitle = 60 // characters of a text in a title

func shorten(text string) string { return cut.Runes(text, maxTitle) }

// correction returns the correction that a diagnostic proposes; nil for none.
func correction(f *File, d *diag.Diagnostic) *Action {
	from, to, text, ok := d.Fix(f.Src)
	if !ok {
		return nil
	}
	return &Action{Title: "Write " + shorten(text), Edits: []Edit{{Span{from, to}, text}}}
}

// missingArgument adds an argument that a block or a tool requires; nil for another diagnostic.
func (p *Project) missingArgument(f *File, d *diag.Diagnostic) *Action {
	names := d.Names()
	if d.Code != diag.MissingArgument {
		return nil
	}
	b := p.At(f, d.Subject.Start.Byte).Block()
	if b == nil || b.DefRange().Start.Byte != d.Subject.Start.Byte {
		return nil
	}
	value := "null"
	if field := b.Kind.Field(names[0], true); field != nil {
		i := Item{Insert: placeholder(*field), Snippet: true}
		if text := i.Plain(); text != "" {
			value = text
		}
	}
	line := names[0] + " = " + strings.ReplaceAll(value, "\n", "\n"+indentOf(f, b)+"  ")
	open := b.OpenBraceRange.End.Byte
	text := "\n" + indentOf(f, b) + "  " + line
	if b.OpenBraceRange.End.Line == b.CloseBraceRange.Start.Line {
		if len(b.Body.Attributes) > 0 || len(b.Body.Blocks) > 0 || strings.Contains(line, "\n") {
			return nil // several arguments need several lines
		}
		text = " " + line
		if f.Src[open] == '}' {
			text += " "
		}
	}
	return &Action{Title: "Add " + names[0], Edits: []Edit{{Span{open, open}, text}}}
}

// indentOf returns the white space before a block.
func indentOf(f *File, b *Block) string {
	line := f.Src[bytes.LastIndexByte(f.Src[:b.TypeRange.Start.Byte], '\n')+1 : b.TypeRange.Start.Byte]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// missingInput declares an input that is read and that there is not; nil for another diagnostic.
func missingInput(f *File, d *diag.Diagnostic) *Action {
	from, to := d.Subject.Start.Byte, d.Subject.End.Byte
	if d.Code != diag.Undeclared || from > to || to > len(f.Src) ||
		!bytes.HasSuffix(f.Src[:from], []byte("input.")) {
		return nil
	}
	i := slices.IndexFunc(f.Body.Blocks, func(b *hclsyntax.Block) bool {
		return b.TypeRange.Start.Byte <= from && to <= b.CloseBraceRange.End.Byte
	})
	if i < 0 {
		return nil
	}
	block, noun := f.Body.Blocks[i], "input"
	switch block.Type {
	case "prompt":
		noun = "argument"
	case "tool":
	default:
		return nil // the variables of a URI
	}
	name := string(f.Src[from:to])
	line, at := fmt.Sprintf("\n  %s %q { type = string }", noun, name), block.OpenBraceRange.End.Byte
	if a := block.Body.Attributes["description"]; a != nil {
		at = lineEnd(f.Src, a.SrcRange.End.Byte-1)
		line = "\n" + line
	}
	for _, b := range block.Body.Blocks {
		if b.Type == noun {
			at, line = b.CloseBraceRange.End.Byte, "\n"+strings.TrimLeft(line, "\n")
		}
	}
	return &Action{Title: fmt.Sprintf("Declare %s %q", noun, name), Edits: []Edit{{Span{at, at}, line}}}
}

// lineEnd returns the end of the line of an offset.
func lineEnd(src []byte, at int) int {
	if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(src)
}

// extractType makes a named type of the object type at a place; nil if there is none.
func (p *Project) extractType(f *File, at *Place) *Action {
	if at.Part != PartValue || at.Field == nil || at.Field.Type != "type" || f.Broken() {
		return nil
	}
	i := slices.IndexFunc(at.Exprs, func(e hclsyntax.Expression) bool {
		call, ok := e.(*hclsyntax.FunctionCallExpr)
		return ok && call.Name == "object"
	})
	if i < 0 || at.Attribute.Name == "is" && spanOf(at.Exprs[i].Range()) == spanOf(at.Attribute.Expr.Range()) {
		return nil
	}
	outer := at.Blocks[0]
	name := at.Block().Type
	for _, b := range at.Blocks {
		if len(b.Labels) > 0 {
			name = b.Labels[len(b.Labels)-1]
		}
	}
	name = p.newTypeName(name)
	whole := spanOf(at.Exprs[i].Range())
	text := "type \"" + name + "\" {\n  is = " + string(f.Src[whole.From:whole.To]) + "\n}\n"
	if formatted, _ := syntax.Format("", []byte(text)); formatted != nil {
		text = string(formatted)
	}
	start := beforeComments(f.Src, outer.TypeRange.Start.Byte)
	return &Action{Title: "Extract type." + name, Edits: []Edit{{Span{start, start}, text + "\n"},
		{whole, "type." + name}}}
}

// newTypeName returns a name of a type that is not taken.
func (p *Project) newTypeName(wanted string) string {
	wanted = strings.NewReplacer(".", "_", " ", "_").Replace(wanted)
	taken := func(name string) bool {
		for i := range p.Config.Blocks {
			b := &p.Config.Blocks[i]
			if b.Type == "type" && len(b.Labels) == 1 && b.Labels[0] == name {
				return true
			}
		}
		return false
	}
	name := wanted
	for n := 2; taken(name); n++ {
		name = fmt.Sprintf("%s_%d", wanted, n)
	}
	return name
}

// beforeComments returns where the comment lines right above an offset begin.
func beforeComments(src []byte, at int) int {
	at = bytes.LastIndexByte(src[:at], '\n') + 1
	for at > 0 {
		above := bytes.LastIndexByte(src[:at-1], '\n') + 1
		if !bytes.HasPrefix(bytes.TrimSpace(src[above:at]), []byte("#")) {
			break
		}
		at = above
	}
	return at
}

// withoutQuotes writes "${input.x}" as input.x where a value is taken; nil for other values.
func withoutQuotes(f *File, at *Place) *Action {
	if at.Part != PartValue || at.Field == nil || at.Field.Type != "value" && at.Field.Type != "map of values" {
		return nil
	}
	for _, e := range at.Exprs {
		if t, ok := e.(*hclsyntax.TemplateWrapExpr); ok {
			inner := spanOf(t.Wrapped.Range())
			text := string(f.Src[inner.From:inner.To])
			return &Action{Title: "Remove the quotes: " + shorten(text), Edits: []Edit{{spanOf(t.Range()), text}}}
		}
	}
	return nil
}
