package curl

import (
	"errors"
	"slices"
	"strings"

	"hatchel/internal/lazyregexp"
)

// powershellVariable matches a variable of PowerShell, or one of its environment.
var powershellVariable = lazyregexp.New(
	`^\$(?:env:)?(?:\{(?:env:)?([A-Za-z_]\w*)\}|([A-Za-z_]\w*)|\(\$(?:env:)?([A-Za-z_]\w*)\))`)

// hereString matches a text of several lines.
var hereString = lazyregexp.New(`(?s)^@(?:"[ \t]*\r?\n(.*?)\r?\n"|'[ \t]*\r?\n(.*?)\r?\n')@`)

// splitCmd reads a command of cmd.exe, as browsers copy it: ^ escapes a character and continues a line.
func splitCmd(text string) (Command, error) {
	var line strings.Builder // the command line after cmd.exe has read it
	var c Command
	quoted := false
	rest := ""
	for i := 0; i < len(text) && rest == ""; i++ {
		switch b := text[i]; {
		case b == '^' && !quoted && i+1 < len(text):
			i++
			after := strings.TrimLeft(text[i:], " \t")
			if strings.HasPrefix(after, "\n") || strings.HasPrefix(after, "\r\n") { // the line continues
				i = len(text) - len(after) + strings.IndexByte(after, '\n')
				next := strings.TrimPrefix(text[i+1:], "\r")
				if strings.HasPrefix(next, "\n") { // an escaped line break
					i = len(text) - len(next)
					line.WriteByte('\n')
				}
				continue
			}
			line.WriteByte(text[i])
		case b == '%':
			if m := cmdVariable.FindStringSubmatch(text[i:min(len(text), i+128)]); m != nil &&
				strings.HasPrefix(text[i:], m[0]) {
				line.WriteString(reference + m[1] + reference)
				i += len(m[0]) - 1
				continue
			}
			line.WriteByte(b)
		case b == '"':
			quoted = !quoted
			line.WriteByte(b)
		case !quoted && (b == '|' || b == '>' || b == '&' || b == '\n'):
			rest = text[i:]
		default:
			line.WriteByte(b)
		}
	}
	if err := c.drop(rest); err != nil {
		return c, err
	}
	words, err := splitArguments(line.String())
	c.Words = words
	return c, err
}

// drop reports what follows the command in its text. Another curl command is refused.
func (c *Command) drop(rest string) error {
	isMark := func(r rune) bool { return strings.ContainsRune(" \t\r\n|&;", r) }
	list := strings.FieldsFunc(rest, isMark)
	if slices.ContainsFunc(list, isCurl) {
		return errors.New("the text has several curl commands; import each alone")
	}
	if len(list) > 0 && !strings.HasPrefix(rest, ">") {
		c.Dropped = append(c.Dropped, "the command "+list[0])
	}
	return nil
}

// splitArguments divides a command line as programs of Windows do: backslashes escape a quote, and a doubled quote
// within quotes is one.
func splitArguments(line string) (words []string, err error) {
	var word strings.Builder
	quoted, begun := false, false
	for i := 0; i < len(line); i++ {
		switch b := line[i]; {
		case b == '\\':
			n := len(line[i:]) - len(strings.TrimLeft(line[i:], `\`))
			i += n - 1
			begun = true
			if i+1 < len(line) && line[i+1] == '"' {
				word.WriteString(strings.Repeat(`\`, n/2))
				if n%2 == 1 {
					word.WriteByte('"')
					i++
				}
				continue
			}
			word.WriteString(strings.Repeat(`\`, n))
		case b == '"' && quoted && strings.HasPrefix(line[i+1:], `"`):
			word.WriteByte('"')
			i++
		case b == '"':
			quoted, begun = !quoted, true
		case !quoted && strings.IndexByte(" \t\r\n", b) >= 0:
			if begun || word.Len() > 0 {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteByte(b)
		}
	}
	if quoted {
		return nil, errors.New("the command is not valid: a double quote is not closed")
	}
	if begun || word.Len() > 0 {
		words = append(words, word.String())
	}
	return words, nil
}

// splitPowerShell reads a command of PowerShell: ` escapes a character and continues a line.
func splitPowerShell(text string) (Command, error) {
	var c Command
	var word strings.Builder
	begun := false
	var values []string // of variables, each behind its reference
	end := func() {
		if begun {
			c.Words = append(c.Words, unescapeQuotes(strings.NewReplacer(values...).Replace(word.String())))
		}
		word.Reset()
		begun = false
	}
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b == '@' && !begun && hereString.MatchString(text[i:]):
			m := hereString.FindStringSubmatch(text[i:])
			if begun = true; m[1] == "" {
				word.WriteString(m[2])
			} else if _, err := readExpandable(strings.ReplaceAll(m[1], `"`, "`\"")+`"`, &word); err != nil {
				return c, err
			}
			i += len(m[0]) - 1
		case b == '\'':
			begun = true
			n := closingQuote(text[i+1:])
			if n < 0 {
				return c, errors.New("the command is not valid: a quote is not closed")
			}
			word.WriteString(strings.ReplaceAll(text[i+1:i+1+n], "''", "'"))
			i += n + 1
		case b == '"':
			begun = true
			n, err := readExpandable(text[i+1:], &word)
			if err != nil {
				return c, err
			}
			i += n
		case b == '`' && i+1 < len(text):
			i++
			if after := strings.TrimLeft(text[i:], " \t\r"); strings.HasPrefix(after, "\n") {
				i = len(text) - len(after)
				end()
				continue
			}
			word.WriteByte(text[i])
			begun = true
		case b == '$':
			begun = true
			i += readVariable(text[i:], &word) - 1
		case strings.IndexByte(" \t\r", b) >= 0:
			end()
		case strings.IndexByte("|;>\n", b) >= 0:
			if end(); strings.IndexByte(";\n", b) >= 0 && len(c.Words) == 0 {
				continue
			}
			if name, isAssigned := assignment(c.Words); isAssigned && strings.IndexByte(";\n", b) >= 0 {
				values = append(values, name, c.Words[2])
				c.Dropped, c.Words = append(c.Dropped, "the assignment of "+strings.Trim(name, reference)), nil
				continue
			}
			return c, c.drop(text[i:])
		default:
			word.WriteByte(b)
			begun = true
		}
	}
	end()
	return c, nil
}

// assignment returns the reference to the variable that the words of a line assign a text to.
func assignment(words []string) (name string, ok bool) {
	if len(words) != 3 || words[1] != "=" || !strings.HasPrefix(words[0], reference) {
		return "", false
	}
	return words[0], true
}

// closingQuote returns the position of the quote that ends a text in single quotes, or -1.
func closingQuote(text string) int {
	for i := 0; i < len(text); i++ {
		if text[i] != '\'' {
			continue
		}
		if !strings.HasPrefix(text[i+1:], "'") {
			return i
		}
		i++
	}
	return -1
}

// readExpandable reads a text in double quotes of PowerShell and returns its length with the closing quote.
func readExpandable(text string, word *strings.Builder) (n int, err error) {
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b == '"' && strings.HasPrefix(text[i+1:], `"`):
			word.WriteByte('"')
			i++
		case b == '"':
			return i + 1, nil
		case b == '`' && i+1 < len(text):
			i++
			if at := strings.IndexByte("nrt0", text[i]); at >= 0 {
				word.WriteByte("\n\r\t "[at])
				continue
			}
			word.WriteByte(text[i])
		case b == '$':
			i += readVariable(text[i:], word) - 1
		default:
			word.WriteByte(b)
		}
	}
	return 0, errors.New("the command is not valid: a double quote is not closed")
}

// readVariable reads $name, ${name} or $env:name and returns its length. Another dollar sign is text.
func readVariable(text string, word *strings.Builder) (n int) {
	m := powershellVariable.FindStringSubmatch(text[:min(len(text), 128)])
	if m == nil {
		word.WriteByte('$')
		return 1
	}
	word.WriteString(reference + m[1] + m[2] + m[3] + reference)
	return len(m[0])
}

// unescapeQuotes removes the backslashes that Windows PowerShell requires before the quotes of an argument.
func unescapeQuotes(word string) string {
	if without := strings.ReplaceAll(word, `\"`, ""); without != word && !strings.Contains(without, `"`) {
		return strings.ReplaceAll(word, `\"`, `"`)
	}
	return word
}
