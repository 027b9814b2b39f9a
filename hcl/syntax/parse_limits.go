package syntax

import (
	"bytes"
	"fmt"
	"hatchel/hcl/diag"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Limits of one file, checked before parsing: the parser recurses, and a stack overflow would end
// the process.
const (
	maxFileSize = 1 << 20
	maxNesting  = 100 // brackets, templates, quotes, %{if} and %{for}, signs
	maxChain    = 500 // operators, conditionals and indexes in one expression

	// The parser joins the pieces of a text in quadratic time: its lines, and each $ and % with what follows it.
	maxPieces = 10_000
)

// checkLimits reports a file that exceeds the limits.
func checkLimits(name string, src []byte) *diag.Diagnostic {
	start := diag.Range{File: name, Start: diag.Pos{Line: 1, Column: 1}, End: diag.Pos{Line: 1, Column: 1}}
	if len(src) > maxFileSize {
		return &diag.Diagnostic{Summary: "File too large",
			Detail: fmt.Sprintf("The maximum file size is %d KiB, and this file has %d KiB. Split it; every "+
				".hcl file of the folder is loaded.", maxFileSize>>10, len(src)>>10), Subject: start}
	}
	if i := bytes.IndexByte(src, 0); i >= 0 {
		nul := diag.Range{File: name, Start: posAt(src, i), End: posAt(src, i+1)}
		return &diag.Diagnostic{Summary: "Invalid character",
			Detail: "The file contains a NUL character. If it is UTF-16, save it as UTF-8.", Subject: nul}
	}
	flat, mayHavePieces := isFlat(src), mayExceedPieces(src)
	if flat && !mayHavePieces {
		return nil
	}
	tokens, _ := hclsyntax.LexConfig(src, name, hclv2.InitialPos)
	if d := checkPieces(tokens); d != nil || flat {
		return d
	}
	return checkNesting(tokens)
}

// mayExceedPieces computes a quick upper bound of the pieces of a text.
func mayExceedPieces(src []byte) bool {
	signs := bytes.Count(src, []byte("$")) + bytes.Count(src, []byte("%"))
	return bytes.Count(src, []byte("\n"))+2*signs >= maxPieces
}

// checkPieces returns where a text has too many pieces, by the scanner's tokens.
func checkPieces(tokens hclsyntax.Tokens) *diag.Diagnostic {
	pieces := 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenStringLit, hclsyntax.TokenQuotedLit:
			pieces++
		default:
			pieces = 0
		}
		if pieces > maxPieces {
			return &diag.Diagnostic{Summary: "Text too long", Subject: diag.RangeOf(t.Range),
				Detail: fmt.Sprintf("A text may have %d lines, and each $ and %% counts as a line or two. Move it "+
					"to a file that file() reads.", maxPieces)}
		}
	}
	return nil
}

// isFlat computes a quick upper bound of nesting and chains from bytes alone. Almost every file
// passes.
func isFlat(src []byte) bool {
	// open counts brackets in which an expression may span lines
	brackets, open, signs, directives, dots := 0, 0, 0, 0, 0
	for i, c := range src {
		switch c {
		case '(', '[':
			open++
			brackets++
			signs++
		case '{':
			brackets++
			signs++
			if i > 0 && src[i-1] == '%' {
				directives++
			}
		case ')', ']':
			open--
			brackets--
		case '}':
			brackets--
		case '!', '-', '+', '*', '/', '%', '<', '>', '=', '&', '|', '?':
			signs++
		case '\n':
			if open <= 0 {
				signs, dots = 0, 0
			}
		case '.':
			dots++
		}
		if dots > maxChain || brackets > maxNesting/2 || signs > maxNesting/2 || directives > maxNesting/2 {
			return false
		}
	}
	return true
}

// nestLevel is an open bracket, template or string.
type nestLevel struct {
	lines bool // a newline ends an expression
	chain int  // operators of the current expression
	dots  int  // members of the current traversal
}

// checkNesting returns the first position that is nested too deeply, by the scanner's tokens.
func checkNesting(tokens hclsyntax.Tokens) *diag.Diagnostic {
	stack := []nestLevel{{lines: true}}
	control, directives := false, 0
	for _, t := range tokens {
		top := &stack[len(stack)-1]
		switch t.Type {
		case hclsyntax.TokenOBrack:
			top.chain++ // probably an index
			stack = append(stack, nestLevel{})
		case hclsyntax.TokenOParen, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl,
			hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			stack = append(stack, nestLevel{})
		case hclsyntax.TokenOBrace:
			stack = append(stack, nestLevel{lines: true})
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd,
			hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			if len(stack) > 1 {
				stack = stack[:len(stack)-1]
			}
		case hclsyntax.TokenComma:
			top.chain, top.dots = 0, 0
		case hclsyntax.TokenNewline:
			if top.lines {
				top.chain, top.dots = 0, 0
			}
		case hclsyntax.TokenDot:
			top.dots++
		case hclsyntax.TokenPlus, hclsyntax.TokenMinus, hclsyntax.TokenStar, hclsyntax.TokenSlash,
			hclsyntax.TokenPercent, hclsyntax.TokenBang, hclsyntax.TokenQuestion,
			hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual, hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq,
			hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq,
			hclsyntax.TokenAnd, hclsyntax.TokenOr:
			top.chain++
			top.dots = 0
		case hclsyntax.TokenIdent:
			if control {
				directives = max(directives+directiveStep[string(t.Bytes)], 0)
			}
		}
		control = t.Type == hclsyntax.TokenTemplateControl
		if now := &stack[len(stack)-1]; len(stack)+directives > maxNesting || now.chain > maxChain ||
			now.dots > maxChain {
			return &diag.Diagnostic{Summary: "Nested too deeply", Subject: diag.RangeOf(t.Range),
				Detail: fmt.Sprintf("Brackets and templates may be nested %d deep, and one expression may "+
					"have %d operators, indexes or members. Split it with locals.", maxNesting, maxChain)}
		}
	}
	return nil
}

var directiveStep = map[string]int{"if": 1, "for": 1, "endif": -1, "endfor": -1}
