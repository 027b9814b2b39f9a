package hclexpr

import (
	"bytes"
	"sort"
	"strings"
	"unicode/utf8"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/template"
	"hatchel/internal/credential"
)

// LiteralCredentials returns a diagnostic for each literal of a block, and of the blocks in it, that shows a credential
// by its form. Owner is the last label around it.
func LiteralCredentials(src []byte, block *hclsyntax.Block, owner string) (diags diag.Diagnostics) {
	if n := len(block.Labels); n > 0 {
		owner = block.Labels[n-1]
	}
	c := &Compiler{src: src, Owner: owner}
	for _, a := range block.Body.Attributes {
		c.inBaseURL = a.Name == "base_url"
		hclsyntax.VisitAll(a.Expr, func(n hclsyntax.Node) hclv2.Diagnostics {
			if t, ok := n.(*hclsyntax.TemplateExpr); ok {
				c.checkLiterals(t, a.Name == "description" || a.Name == "instructions")
			}
			return nil
		})
	}
	for _, b := range block.Body.Blocks {
		c.Diags = append(c.Diags, LiteralCredentials(src, b, owner)...)
	}
	return c.Diags
}

// checkLiterals reports the credentials that the literal parts of a template show. A text that explains may have an
// example of a parameter, as in ?token=abc.
func (c *Compiler) checkLiterals(t *hclsyntax.TemplateExpr, explains bool) {
	text := literalParts(t)
	matches := credential.FindAll(text)
	if len(matches) == 0 {
		return
	}
	type piece struct {
		from    int
		literal *template.Text
	}
	var pieces []piece
	from := 0
	for _, part := range t.Parts {
		decoded := literalPart(part)
		if l, ok := part.(*hclsyntax.LiteralValueExpr); ok {
			pieces = append(pieces, piece{from, c.literalText(decoded, l.SrcRange)})
		}
		from += len(decoded)
	}
	for _, m := range matches {
		found := text[m.Start:m.End]
		if !credential.IsKnown(found) || explains && m.Name != "" && !credential.LooksRandom(found) {
			continue
		}
		at := t.Range()
		after := sort.Search(len(pieces), func(i int) bool { return pieces[i].from > m.Start })
		if after > 0 {
			if p := pieces[after-1]; m.End <= p.from+len(p.literal.Value) {
				at = p.literal.Place(m.Start-p.from, m.End-p.from)
			}
		}
		c.refuseCredential(at, "This is "+m.Noun+".", secretName(m), found)
		c.Diags.Conceal(diag.Credential{Text: found, Whole: at != t.Range()})
	}
}

// literalParts returns the text of a template, with credential.Unknown for the parts that are no literals.
func literalParts(t *hclsyntax.TemplateExpr) string {
	if len(t.Parts) == 1 {
		return literalPart(t.Parts[0])
	}
	var text strings.Builder
	for _, part := range t.Parts {
		text.WriteString(literalPart(part))
	}
	return text.String()
}

func literalPart(e hclsyntax.Expression) string {
	if l, ok := e.(*hclsyntax.LiteralValueExpr); ok {
		decoded, _ := LiteralValue(l.Val).(string)
		return decoded
	}
	return credential.Unknown
}

// FileCredentials returns a diagnostic for each credential of a known service, and each private key, in a file that a
// program may read; in a script, also for each password of a URL and the like, which other code may have in examples.
func FileCredentials(name string, src []byte, isScript bool) diag.Diagnostics {
	find := credential.FindIssued
	if isScript {
		find = credential.FindAll
	}
	c := &Compiler{src: src, Scope: &eval.Scope{}}
	position := func(at int) hclv2.Pos {
		line := bytes.LastIndexByte(src[:at], '\n') + 1
		number, column := 1+bytes.Count(src[:at], []byte("\n")), 1+utf8.RuneCount(src[line:at])
		return hclv2.Pos{Line: number, Column: column, Byte: at}
	}
	for _, m := range find(string(src)) {
		at := hclv2.Range{Filename: name, Start: position(m.Start), End: position(m.End)}
		c.refuseCredential(at, "This is "+m.Noun+", in a file that a program may read.", secretName(m),
			string(src[m.Start:m.End]))
	}
	return c.Diags
}
