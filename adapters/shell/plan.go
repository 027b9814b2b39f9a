package shell

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl"
)

// Plan implements adapters.Planner: the commands as a shell would have to be given them, the folder, the environment and how much there is to read.
func (a *action) Plan(call *adapters.Call) (string, error) {
	d, err := a.draft(call.Frame)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for i, words := range d.stages {
		if i > 0 {
			out.WriteString(" | ")
		}
		for k, w := range words {
			if k > 0 {
				out.WriteByte(' ')
			}
			out.WriteString(quoted(w))
		}
	}
	fmt.Fprintf(&out, "\nin %s\n", quoted(d.dir))
	for _, v := range d.entries {
		shown := quoted(v.value)
		if v.secret {
			shown = hcl.Hidden
		}
		fmt.Fprintf(&out, "env %s=%s\n", v.name, shown)
	}
	if len(a.inherited) > 0 {
		fmt.Fprintf(&out, "env passed on: %s\n", strings.Join(a.inherited, " "))
	}
	a.confined.describe(&out)
	if d.given != "" {
		fmt.Fprintf(&out, "stdin %s\n", d.given)
	} else if d.stdin != nil {
		fmt.Fprintf(&out, "stdin %s\n", given(d.stdin))
	}
	return adapters.Scrub(out.String(), d.secrets), nil
}

// plannedInput is how many bytes of what a command reads are shown.
const plannedInput = 4 << 10

// given is what a command reads.
func given(stdin []byte) string {
	n := len(stdin)
	if !utf8.Valid(stdin) {
		return fmt.Sprintf("%s%d bytes]", adapters.NotShown, n)
	}
	if n <= plannedInput {
		return fmt.Sprintf("%d bytes:\n%s", n, stdin)
	}
	head := strings.ToValidUTF8(string(stdin[:plannedInput]), "")
	return fmt.Sprintf("%d bytes:\n%s… %s%d bytes more]", n, head, adapters.NotShown, n-len(head))
}

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"

// quoted is a word as a shell must be given it to take it for just that. What a terminal would act on is written as an escape, which bash and zsh read.
func quoted(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	if !strings.ContainsFunc(word, acts) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var out strings.Builder
	out.WriteString("$'")
	for _, r := range word {
		switch {
		case r == '\'' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == 0xFFFD:
			out.WriteRune(r)
		case r < 0x80 && acts(r):
			fmt.Fprintf(&out, `\x%02x`, r)
		case acts(r):
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String() + "'"
}

// acts reports that a terminal does something else with a character than showing it.
func acts(r rune) bool {
	return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
