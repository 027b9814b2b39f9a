package shell

import (
	"fmt"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
)

// Plan implements adapters.Planner. It shows the commands in shell syntax, the directory, the environment, what the
// programs may do, and the standard input.
func (a *action) Plan(call *adapters.Call) (string, error) {
	p, err := a.plan(call.Frame)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for i, argv := range p.stages {
		if i > 0 {
			out.WriteString(" | ")
		}
		for k, arg := range argv {
			if k > 0 {
				out.WriteByte(' ')
			}
			out.WriteString(quote(arg))
		}
	}
	fmt.Fprintf(&out, "\nin %s\n", quote(p.dir))
	for _, v := range p.variables {
		shown := quote(v.value)
		if v.secret {
			shown = hcl.Hidden
		}
		fmt.Fprintf(&out, "env %s=%s\n", v.name, shown)
	}
	if len(a.inherited) > 0 {
		fmt.Fprintf(&out, "env inherited: %s\n", strings.Join(a.inherited, " "))
	}
	a.describeSandbox(&out)
	if p.stdinFile != "" {
		fmt.Fprintf(&out, "stdin %s\n", p.stdinFile)
	} else if p.stdin != nil {
		fmt.Fprintf(&out, "stdin %d bytes:\n%s\n", len(p.stdin), adapters.PlanText(p.stdin, maxShownInput))
	}
	return adapters.Scrub(out.String(), p.secrets), nil
}

// describeSandbox writes what the programs may do in addition to the default.
func (a *action) describeSandbox(out *strings.Builder) {
	if a.sandbox == nil {
		out.WriteString("not confined\n")
		return
	}
	if a.rules.Network {
		out.WriteString("with network\n")
	}
	if a.rules.Modes {
		out.WriteString("may change modes, groups and times of all files of the server's user\n")
	}
	for _, path := range absoluteAll(a.configDir, a.rules.Read) {
		fmt.Fprintf(out, "may read %s\n", quote(path))
	}
	for _, path := range absoluteAll(a.configDir, a.rules.Write) {
		fmt.Fprintf(out, "may write %s\n", quote(path))
	}
}

// maxShownInput is how many bytes of the standard input a dry run shows.
const maxShownInput = 4 << 10

const unquotedChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"

// quote writes an argument in shell syntax. Characters that control a terminal become escapes, which bash and zsh read.
func quote(arg string) string {
	if arg != "" && strings.Trim(arg, unquotedChars) == "" {
		return arg
	}
	if !strings.ContainsFunc(arg, isTerminalControl) {
		return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	var out strings.Builder
	out.WriteString("$'")
	for _, r := range arg {
		switch {
		case r == '\'' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r < 0x80 && isTerminalControl(r):
			fmt.Fprintf(&out, `\x%02x`, r)
		case isTerminalControl(r):
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String() + "'"
}

// isTerminalControl reports whether a terminal does anything else with a character than to show it.
func isTerminalControl(r rune) bool {
	return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e ||
		r >= 0x2066 && r <= 0x2069
}
