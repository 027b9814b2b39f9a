package shelltext

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"hatchel/internal/credential"
)

// Commands returns the words of the simple commands of a script, assignments first, as the author wrote them. What a
// call or the shell computes is credential.Unknown. A nil Script has none.
func (s *Script) Commands() [][]string {
	if s == nil {
		return nil
	}
	return s.commands
}

// writtenCommands returns the words of the simple commands of a file.
func (c *scriptCompiler) writtenCommands(file *syntax.File) (commands [][]string) {
	values := map[string]string{}
	for _, h := range c.values {
		values[h.variable] = h.Written
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		var words []string
		switch n := n.(type) {
		case *syntax.CallExpr:
			for _, a := range n.Assigns {
				words = append(words, writtenAssignment(a, values))
			}
			for _, w := range n.Args {
				words = append(words, writtenWord(w.Parts, values))
			}
		case *syntax.DeclClause: // export, local, readonly
			for _, a := range n.Args {
				words = append(words, writtenAssignment(a, values))
			}
		}
		if words != nil {
			commands = append(commands, words)
		}
		return true
	})
	return commands
}

func writtenAssignment(a *syntax.Assign, values map[string]string) string {
	switch {
	case a.Name == nil && a.Value != nil:
		return writtenWord(a.Value.Parts, values)
	case a.Name == nil || a.Value == nil:
		return ""
	}
	return a.Name.Value + "=" + writtenWord(a.Value.Parts, values)
}

// writtenWord returns the text of a word without its quotes.
func writtenWord(parts []syntax.WordPart, values map[string]string) string {
	var b strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			b.WriteString(writtenWord(p.Parts, values))
		case *syntax.ParamExp:
			text := ""
			if p.Param != nil && p.Exp == nil {
				text = values[p.Param.Value]
			}
			if text == "" {
				text = credential.Unknown
			}
			b.WriteString(text)
		default:
			b.WriteString(credential.Unknown)
		}
	}
	return b.String()
}
