package shelltext

import (
	"regexp"
	"strings"
)

// Words with shell syntax.
var (
	variable = regexp.MustCompile(`^\$(?:[A-Z_][A-Z0-9_]*|\{[A-Z_][A-Z0-9_]*\})$`)
	operator = map[string]string{
		"|": "A pipe is written pipe = [[…], […]].", "|&": "A pipe is written pipe = [[…], […]].",
		"&&": "Several commands are a script, or steps.", "||": "Several commands are a script, or steps.",
		">":  "Write the output with a file block in a step, or use a script.",
		">>": "Write the output with a file block in a step, or use a script.",
		"<":  "The input of a command is stdin = ….", "2>&1": `Write stderr = "merge".`,
		"2>/dev/null": "Standard error is captured separately already.",
	}
)

// lintShellSyntax warns about a word with shell syntax: a command has no shell, so the program
// receives the word literally.
func (c argvCheck) lintShellSyntax(a *Arg) {
	s, ok := a.literal()
	if !ok || a.Text == nil {
		return
	}
	switch {
	case operator[s] != "":
		c.warnf(a.Range, "Word for a shell",
			`A command runs without a shell, and the program receives %q as an argument. %s`, s, operator[s])
	case variable.MatchString(s):
		c.warnf(a.Range, "Word for a shell",
			`A command runs without a shell, and the program receives %q as an argument. Name the variable `+
				`in inherit_env and read it in the program or a script.`, s)
	case s == "~" || strings.HasPrefix(s, "~/"):
		c.warnf(a.Range, "Word for a shell",
			`A command runs without a shell, and the program receives %q as an argument. Write the whole path.`, s)
	}
}
