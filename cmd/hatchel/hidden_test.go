package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// hiddenSource is a configuration whose texts have characters that nobody sees, or that a terminal obeys. MARK stands
// for them.
const hiddenSource = `server {
  name         = "s"
  title        = "tMARK"
  instructions = "iMARK"
}
tool "t" {
  title       = "aMARKb"
  description = "Shows MARK a balance." # MARK
  input "x" {
    type        = object({ "aMARKb" = optional(string("dMARK")), e = enum("xMARKy", "z") })
    description = "dMARK"
  }
  allow = "caller.subject in ['annMARK'] || 'MARK' in caller.groups"
  http {
    get     = "https://api.example.com/x"
    headers = { "X-A" = "vMARK${input.x.e}" }
  }
}
tool "u" {
  description = "Answers MARK."
  input "x" { type = string }
  check "none MARK" {
    that = "input.x != 'MARK' && len(input.x) > 1"
  }
  text = "MARK${input.x}"
}
test "of MARK" {
  tool = "u"
  args = { x = "aMARK" }
  expect {
    text = "wrong MARK"
  }
}
`

// hiddenMarks are the characters that hiddenSource has in turn.
var hiddenMarks = []string{"\u202e", "\x1b[2J", "\u200b", "\u0085", "\ufeff", "\U000e0041", "\u2028", "\u00a0"}

// unseen returns the first character of an output that nobody sees or that a terminal obeys.
func unseen(out string) string {
	for _, r := range out {
		if r != '\n' && r != '\t' && (!unicode.IsPrint(r) || strings.ContainsRune("\u202e\u200b", r)) {
			return strings.TrimSpace(out[max(strings.IndexRune(out, r)-60, 0):strings.IndexRune(out, r)]) + string(r)
		}
	}
	return ""
}

// No command prints hidden characters of texts that others have written, in any format, so that a person sees them and
// a terminal does not obey them.
func TestNoCommandPrintsHiddenCharactersOfOthers(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for i, mark := range hiddenMarks {
		src := strings.ReplaceAll(hiddenSource, "MARK", mark)
		changed := strings.NewReplacer("balance", "account", "annM", "bobM", "X-A", "X-B", "dM", "fM").Replace(hiddenSource)
		for name, text := range map[string]string{
			filepath.Join(dir, "a.hcl"): src, filepath.Join(other, "a.hcl"): strings.ReplaceAll(changed, "MARK", mark),
			filepath.Join(dir, "wrong", "a.hcl"): strings.Replace(src, "len(", "MARKlen("+mark, 1),
			filepath.Join(dir, "wrong", "b.hcl"): "tool \"v\" {\n  text = \"" + mark + "${inptu.x}\" # " + mark + "\n  argument" + mark + " = 1\n}\n",
		} {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err == nil {
				err = os.WriteFile(name, []byte(text), 0o600)
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		commands := []string{
			"validate wrong", "validate wrong --format json", "validate wrong --format github",
			"validate wrong --format sarif", "lint", "lint --format json", "lint --format github",
			"lint --format sarif", "list", "list --json", "list --tokens", "policy list", "policy list --json",
			"policy matrix", "policy matrix --format json", "policy matrix --format markdown",
			"policy explain --tool t --subject ann", "policy explain --tool t --json", "test", "test --format json",
			"test --format tap", "test --format github", "call u x=a", "call u x=ab --json",
			`call t x={"e":"x` + mark + `y"} --dry-run`, `call t x={"e":"no"} --group ` + mark,
			"diff " + other, "diff --format json " + other, "diff --format markdown " + other,
			"diff --format github " + other, "diff --format sarif " + other,
		}
		if i > 0 { // each format has seen one, and each mark goes through the ways that differ
			commands = []string{"validate wrong", "validate wrong --format json", "lint --format github", "list", "policy list"}
		}
		for _, command := range commands {
			cmd := exec.CommandContext(t.Context(), "hatchel", strings.Fields(command)...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if _, ended := err.(*exec.ExitError); err != nil && !ended {
				t.Fatal(err)
			}
			if len(out) == 0 || strings.Contains(string(out), "Run 'hatchel") {
				t.Errorf("%s: %s", command, out)
			}
			if at := unseen(string(out)); at != "" {
				t.Errorf("%s prints %+q", command, at)
			}
		}
	}
	for command, want := range map[string]string{
		"call u x=ab": "<U+00A0>", "fmt --diff": "<U+00A0>",
	} {
		if out := runOnTerminal(t, dir, strings.Fields(command)...); !strings.Contains(out, want) || unseen(out) != "" {
			t.Errorf("%s on a terminal: %+q", command, out)
		}
	}
}
