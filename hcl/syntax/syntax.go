package syntax

import (
	"cmp"
	"strings"

	"hatchel/hcl/diag"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// maxSyntaxErrors is the number of diagnostics shown for a file with a syntax error; later ones are
// mostly consequences of the first.
const maxSyntaxErrors = 2

// An unclosed interpolation also consumes the closing quote.
const (
	unclosedInterpolation = "Unclosed template interpolation sequence"
	unclosedText          = "Invalid multi-line string"
	unclosedHeredoc       = "Unterminated template string"
)

// syntaxDetails replaces details of the parser that do not explain the fix.
var syntaxDetails = map[string]string{
	"Missing newline after argument": "Each argument must be on its own line. The operators are && and ||; to join " +
		"strings, write one template, \"${a} ${b}\".",
	"Missing newline after block definition": "Nothing may follow the closing brace of a block on the same line.",
	"Argument definition required": "A single-line block may contain only one argument and no block. Start a new " +
		"line after its opening brace.",
	"Argument or block definition required": "An argument, `name = value`, or a block, `name \"label\" {`, is " +
		"expected here.",
	"Invalid block definition": "A block is written `name \"label\" {`, without an equals sign and with its opening " +
		"brace on the same line.",
	"Unclosed configuration block": "This block, or one inside it, has no closing brace.",
	unclosedInterpolation:          "The ${ has no closing brace before the end of the template.",
	"Unexpected end of template": "A %{if ...} needs its %{endif}, and a %{for ...} its %{endfor}, before the end of " +
		"the template.",
	"Attribute redefined": "This argument is already set in the same block.",
	"Invalid argument name": "A name of an argument has no quotes. A map, whose names may have them, has an equals " +
		"sign: `name = { \"key\" = value }`.",
	"Missing expression": "The value is missing.",
	"Invalid expression": "A value is expected here.",
	"Invalid single-argument block definition": "A single-line block may contain only one argument. Write each " +
		"argument on its own line.",
	unclosedText: "The closing quote is missing: a quoted string ends on the line where it begins. Write a line " +
		"break as \\n, or write the text as a heredoc, <<TEXT … TEXT.",
	unclosedHeredoc: "The string is not closed. A quoted string needs its closing quote; a heredoc needs its marker " +
		"alone on a line.",
	"Invalid string literal": "This string must be constant. For a check or expect message with values, use the " +
		"argument `message = \"…\"`; to write ${ literally, use $${.",
}

// explainSyntaxErrors converts the diagnostics of the parser, with better details where there are
// some.
func explainSyntaxErrors(in hclv2.Diagnostics, src []byte) diag.Diagnostics {
	var out diag.Diagnostics
	for _, d := range diag.FromHCL(in).Sort() {
		n := len(out)
		if n > 0 && d.Summary == "Invalid character" && out[n-1].Subject.Start.Line == d.Subject.Start.Line &&
			out[n-1].Summary == "Argument or block definition required" {
			out[n-1] = d // the cause of the error on this line
			continue
		}
		echo := n > 0 && (out[n-1].Summary == "Invalid character encoding" ||
			out[n-1].Subject.Start == d.Subject.Start || isConsequence(out[n-1], d, src))
		if n < maxSyntaxErrors && !echo {
			out = append(out, d)
		}
	}
	for _, d := range out {
		d.Detail = cmp.Or(syntaxDetails[d.Summary], strings.TrimSpace(d.Detail))
		explainMistake(d, src)
		if len(strings.Fields(d.Summary)) > 5 {
			d.Detail = strings.TrimSpace(d.Summary + ". " + d.Detail)
			d.Summary = "Syntax error"
		}
	}
	return out
}

// isConsequence reports whether an error is only a consequence of the previous one.
func isConsequence(first, d *diag.Diagnostic, src []byte) bool {
	switch first.Summary {
	case unclosedInterpolation:
		return d.Summary == unclosedText
	case unclosedText:
		return true // the quotes after it are inverted
	case "Invalid expression":
		return d.Summary == "Argument or block definition required" &&
			quotedMarkerPattern.Match(src[min(first.Subject.Start.Byte, len(src)):])
	}
	return false
}

// Parse parses one file. The body is never nil; it is empty if the file exceeds a limit.
func Parse(name string, src []byte) (*hclsyntax.Body, diag.Diagnostics) {
	if d := checkLimits(name, src); d != nil {
		return &hclsyntax.Body{}, diag.Diagnostics{d}
	}
	file, diags := hclsyntax.ParseConfig(src, name, hclv2.InitialPos)
	return file.Body.(*hclsyntax.Body), explainSyntaxErrors(diags, src)
}

// Format rewrites a file in the canonical style. For a file with a syntax error the result is nil,
// with diagnostics.
func Format(name string, src []byte) ([]byte, diag.Diagnostics) {
	if _, diags := Parse(name, src); diags.HasErrors() {
		return nil, diags
	}
	return FormatParsed(src), nil
}

// FormatParsed rewrites a file without a syntax error in the canonical style.
func FormatParsed(src []byte) []byte { return hclwrite.Format(src) }
