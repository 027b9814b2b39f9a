package syntax

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"hatchel/hcl/diag"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/printable"
)

// Hints for syntax errors that come from habits of other languages or from a missing quote. The
// parser only reports where it could not continue.

// explainMistake rewrites a diagnostic of the parser if the source shows the author's intent.
func explainMistake(d *diag.Diagnostic, src []byte) {
	if explainShellExpansion(d, src) {
		return
	}
	before, after := src[:min(d.Subject.Start.Byte, len(src))], src[min(d.Subject.Start.Byte, len(src)):]
	switch d.Summary {
	case "Argument or block definition required":
		explainDefinition(d, src, after)
	case "Invalid character":
		explainCharacter(d, after)
	case "Invalid character encoding":
		d.Detail = "The file is not valid UTF-8 here. Save it as UTF-8."
	case unclosedHeredoc:
		explainHeredoc(d, src)
	case "Invalid expression":
		if marker := quotedMarkerPattern.FindSubmatch(after); marker != nil {
			d.Detail = fmt.Sprintf("The marker of a heredoc has no quotes: <<-%s.", marker[1])
		}
	case "Invalid block definition":
		if m := argumentWithoutEquals.FindSubmatch(lastLine(before)); m != nil &&
			!bytes.HasPrefix(bytes.TrimSpace(after), []byte("{")) {
			d.Detail = fmt.Sprintf("An argument has an equals sign: %s = %s. A block has its opening brace "+
				"on the same line.", m[1], m[2])
		}
	case "Invalid template control keyword":
		d.Detail = "%{ begins an if or a for: %{if input.x} … %{endif}. To write it literally, use %%{."
	case "Invalid escape sequence":
		d.Detail = `A backslash begins an escape: \n, \r, \t, \", \\, \u and four or \U and eight hexadecimal ` +
			`digits. Write \\ for a backslash; in a heredoc, <<TEXT … TEXT, a backslash is an ordinary character.`
	case "Missing argument separator":
		if bytes.HasPrefix(after, []byte("=")) {
			d.Detail = `Arguments in parentheses have no names. Options of a type are an object, as in ` +
				`integer("Number", { min = 1 }), and a default is written optional(integer("Number"), 3).`
		}
	case "Missing newline after argument", "Invalid single-argument block definition":
		if rest := bytes.TrimLeft(after, " \t"); d.Summary != "Missing newline after argument" && startsNewLine(rest) {
			d.Detail = "The block has an argument on the line of its opening brace, so its closing brace is on that " +
				"line, too. Write it at the end of the line, or start a new line after the opening brace."
			return
		}
		if bytes.HasSuffix(before, []byte(`"`)) && len(after) > 0 && !unicode.IsSpace(rune(after[0])) &&
			after[0] != ',' {
			d.Detail = `The string ends at the quote before this. In an expression use single quotes, 'a'; ` +
				`in a string write a quote as \".`
		}
	}
}

var argumentWithoutEquals = lazyregexp.New(`^\s*([\pL_][\pL\pN_-]*)\s+("[^"]*")\s*$`)

// startsNewLine reports whether nothing but a comment is left of the line that a text is in.
func startsNewLine(text []byte) bool {
	for _, end := range [...]string{"\n", "\r\n", "#", "//"} {
		if bytes.HasPrefix(text, []byte(end)) {
			return true
		}
	}
	return len(text) == 0
}

// lastLine returns the last line of a text.
func lastLine(text []byte) []byte { return text[bytes.LastIndexByte(text, '\n')+1:] }

var quotedMarkerPattern = lazyregexp.New(`^<<-?["']([\pL_][\pL\pN_-]*)["']`)

func explainDefinition(d *diag.Diagnostic, src, after []byte) {
	rest := bytes.TrimLeft(src[min(d.Subject.End.Byte, len(src)):], " \t")
	switch {
	case bytes.HasPrefix(after, []byte("}")):
		d.Detail = "Unmatched brace: there is one more } than {."
	case bytes.HasPrefix(after, []byte("{")):
		d.Detail = "A block begins with its name: `tool \"name\" {`. JSON files are not supported."
	case bytes.HasPrefix(after, []byte("<<<<<<<")):
		d.Detail = "This is a merge conflict marker. Resolve the conflict, and remove the lines with " +
			"<<<<<<<, ======= and >>>>>>>."
	case bytes.HasPrefix(rest, []byte(":")):
		name := after[:d.Subject.End.Byte-d.Subject.Start.Byte]
		d.Detail = fmt.Sprintf("Arguments use =, not a colon: %s = ….", name)
	}
}

func explainCharacter(d *diag.Diagnostic, after []byte) {
	r, _ := utf8.DecodeRune(after)
	switch {
	case strings.ContainsRune("“”„«»‘’‚", r):
		d.Detail = fmt.Sprintf("%c is a typographic quote. Use a straight quote: \".", r)
	case r == '\'':
		d.Detail = "Strings use double quotes, \"like this\"; single quotes are for strings inside expressions."
	case r == ';':
	case r == '\r':
		d.Detail = "This is a carriage return without a line feed. Save the file with Unix or Windows line endings."
	case !printable.Is(r):
		d.Detail = fmt.Sprintf("The invisible character %U is not a space. Replace it with a space, or remove it.", r)
	default:
		d.Detail = fmt.Sprintf("The character %q is not allowed here.", r)
	}
}

var heredocStart = lazyregexp.New(`<<-?([\pL_][\pL\pN_-]*)\r?\n`)

// explainHeredoc moves the diagnostic of an unclosed heredoc from the end of the file to the
// beginning of the heredoc.
func explainHeredoc(d *diag.Diagnostic, src []byte) {
	for at := 0; ; {
		m := heredocStart.FindSubmatchIndex(src[at:])
		if m == nil {
			return
		}
		marker := src[at+m[2] : at+m[3]]
		body := src[at+m[1]:]
		end := regexp.MustCompile(`(?m)^[ \t]*` + regexp.QuoteMeta(string(marker)) + `\r?$`).FindIndex(body)
		if end == nil {
			d.Subject.Start, d.Subject.End = posAt(src, at+m[0]), posAt(src, at+m[3])
			d.Detail = fmt.Sprintf("This heredoc is not closed: %s must be alone on a line.", marker)
			return
		}
		at += m[1] + end[1]
	}
}

// shellExpansionPattern matches ${...} expansions of a shell such as ${f%.log}, ${f:-other}, ${#f}
// and ${a[@]}. It is applied only at syntax errors, because some forms, like ${a/b}, are also valid
// here.
var shellExpansionPattern = lazyregexp.New(`\$\{(?:[#!][\pL_]\w*|(?:[\pL_]\w*|\d)` +
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

// posAt returns the position of a byte.
func posAt(src []byte, at int) diag.Pos {
	line := bytes.LastIndexByte(src[:at], '\n') + 1
	return diag.Pos{Line: 1 + bytes.Count(src[:at], []byte("\n")), Column: 1 + utf8.RuneCount(src[line:at]), Byte: at}
}
