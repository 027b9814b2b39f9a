package syntax

import (
	"fmt"
	"hatchel/hcl/diag"
	"regexp"
	"strings"
)

// shellExpansionPattern is what a shell reads in ${...}, written as no value here can be:
// ${f%.log}, ${f:-other}, ${#f}, ${a[@]}. It is sought only where the parser could not go on,
// because some, like ${a/b}, are values of the language, too.
var shellExpansionPattern = regexp.MustCompile(`\$\{(?:[#!][\pL_]\w*|(?:[\pL_]\w*|\d)` +
	`(?:\[[@*]\]|:[-=+?]|%|#|/|\^|,|@)[^}\n]*|[@*#?$!-])\}`)

// explainShellExpansion shows the expansion of a shell because of which the parser could not go on,
// and whether there is one. A # in one begins a comment, which takes the closing brace with it, so
// that the parser finds out on another line.
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
