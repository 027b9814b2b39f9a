package importer

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"hatchel/internal/cut"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/printable"
)

// Quote returns a string literal of HCL whose value is s. Nothing in s can end the literal or begin an interpolation.
// Invalid UTF-8 becomes U+FFFD.
func Quote(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for rest := s; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		switch {
		case strings.HasPrefix(rest, "${"), strings.HasPrefix(rest, "%{"):
			out.WriteString(rest[:1] + rest[:2])
			n = 2
		case (r == '$' || r == '%') && strings.HasPrefix(rest[1:], string(r)):
			fmt.Fprintf(&out, `\u%04x`, r) // the scanner would read the doubled character as an escape
		case r == '"' || r == '\\':
			out.WriteString(`\` + string(r))
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\r':
			out.WriteString(`\r`)
		case r == '\t':
			out.WriteString(`\t`)
		default:
			out.WriteRune(r)
		}
		rest = rest[n:]
	}
	out.WriteByte('"')
	return printable.Replace(out.String(), "", printable.Escape)
}

// Optional returns optional(typ, fallback) for the text of a default. A sentence behind the word string alone would be
// taken for a description by readers and by validate.
func Optional(typ, fallback string) string {
	if typ == "string" && strings.Contains(fallback, " ") {
		typ = "string({})"
	}
	return "optional(" + typ + ", " + fallback + ")"
}

// Enum returns the type of one of the strings, which are literals. A sentence before other values would be taken for a
// description.
func Enum(literals []string) string {
	list := strings.Join(literals, ", ")
	if strings.Contains(literals[0], " ") {
		return "string({ enum = [" + list + "] })"
	}
	return "enum(" + list + ")"
}

// Template returns text for a heredoc in which nothing of s is an interpolation.
func Template(s string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(s)
}

// TemplateHolds reports whether Template can represent s: a dollar or percent sign directly before "${" or "%{" has
// no notation in a heredoc.
func TemplateHolds(s string) bool {
	return !strings.Contains(s, "$${") && !strings.Contains(s, "%%{")
}

// Comment returns s as comment lines, without credentials.
func Comment(s string) string {
	var out strings.Builder
	for line := range strings.Lines(WithoutCredentials(s)) {
		out.WriteString(strings.TrimRight("# "+printable.Reveal(strings.TrimRight(line, "\r\n"), ""), " ") + "\n")
	}
	return out.String()
}

// Identifier returns s as a name of the language in snake case: ASCII letters, digits and underscores, beginning with
// a letter. It is "x" when nothing of s can be kept.
func Identifier(s string) string {
	var out []byte
	lower := false // the last character was a lower-case letter or a digit
	for _, r := range s {
		switch {
		case r >= 'A' && r <= 'Z':
			if lower {
				out = append(out, '_')
			}
			out, lower = append(out, byte(r-'A'+'a')), false
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			out, lower = append(out, byte(r)), true
		default:
			if len(out) > 0 && out[len(out)-1] != '_' {
				out = append(out, '_')
			}
			lower = false
		}
	}
	name := strings.Trim(string(out), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = strings.TrimRight("x_"+name, "_")
	}
	return name
}

// Names hands out distinct names.
type Names map[string]bool

// Take returns the name, or the name with the lowest free number from 2 behind it, cut to max bytes in total.
func (n Names) Take(name string, max int) string {
	taken := cutName(name, max)
	for i := 2; n[taken]; i++ {
		suffix := "_" + strconv.Itoa(i)
		taken = cutName(name, max-len(suffix)) + suffix
	}
	n[taken] = true
	return taken
}

func cutName(name string, max int) string { return strings.TrimRight(name[:min(len(name), max)], "_") }

// FileName returns a name for a file of blocks.
func FileName(name string) string { return cutName(Identifier(name), 60) + ".hcl" }

// Sentence returns the text on one line, without credentials and characters that a reviewer cannot see, cut at the end
// of a sentence or word so that it has at most max bytes.
func Sentence(s string, max int) string {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		if printable.HasHidden(string(r)) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	s = WithoutCredentials(strings.Join(strings.Fields(s), " "))
	switch {
	case len(s) <= max:
		return s
	case max < 4:
		return ""
	}
	for i := max; i > max/2; i-- {
		if s[i] == ' ' && strings.IndexByte(".!?", s[i-1]) >= 0 {
			return s[:i]
		}
	}
	if i := strings.LastIndexByte(s[:max-2], ' '); i > 0 {
		return s[:i] + " …"
	}
	return s[:cut.Before(s, max-3)] + "…"
}

// Key returns the key of an object: the name itself, or a literal if the name has no such form.
func Key(name string) string {
	switch {
	case name == "for", name == "true", name == "false", name == "null", !plainKey.MatchString(name):
		return Quote(name)
	}
	return name
}

var plainKey = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_-]*$`)
