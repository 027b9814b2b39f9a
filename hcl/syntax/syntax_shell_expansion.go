package syntax

import (
	"fmt"
	"hatchel/hcl/diag"
	"regexp"
	"strings"
)

// shellExpansionPattern matches ${...} expansions of a shell such as ${f%.log}, ${f:-other}, ${#f}
// and ${a[@]}. It is applied only at syntax errors, because some forms, like ${a/b}, are also valid
// here.
var shellExpansionPattern = regexp.MustCompile(`\$\{(?:[#!][\pL_]\w*|(?:[\pL_]\w*|\d)` +
	`(?:\[[@*]\]|:[-=+?]|%|#|/|\^|,|@)[^}\n]*|[@*#?$!-])\}`)

// explainShellExpansion replaces a syntax error caused by a shell expansion, and reports whether
// there is one. A # in an expansion begins a comment that hides the closing brace, so the parser
// reports another line.
func explainShellExpansion(d *diag.Diagnostic, src []byte) bool {
	for _, m := range shellExpansionPattern.FindAllIndex(src, -1) {
		start, text := posAt(src, m[0]), string(src[m[0]:m[1]])
		escaped := m[0] > 0 && src[m[0]-1] == '$'
		near := start.Line == d.Subject.Start.Line || start.Line < d.Subject.Start.Line && strings.Contains(text, "#")
		if escaped || !near {
			continue
		}
		d.Subject.Start, d.Subject.End = start, posAt(src, m[1])
		d.Summary = "Expansion of a shell"
		d.Detail = fmt.Sprintf("${ begins a value of the configuration, and %s is a shell expansion. Write $%s.",
			text, text)
		return true
	}
	return false
}
