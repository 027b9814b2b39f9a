package shell

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"hatchel/adapters/adaptertest"
)

// hostileValues are values with a meaning for a shell, a terminal, a library or a careless program.
var hostileValues = []string{
	"", " ", "  two  spaces ", "'", `"`, "`id`", "$(id)", "${IFS}", "$HOME", "$0", "$((1/0))", "; touch owned", "| touch owned", "& touch owned", "> owned", "< /etc/passwd",
	"a\nb", "\n", "a\n\n", "a\r\nb", "\t", "*", "?", "[a-z]", "~", "~root", "{a,b}", "\\", "\\n", "a\\", "!", "!!", "#", "%s%n", "%", "\x01\x02\x1b[31m", "\x7f",
	"é", "e\u0301", "\u2028", "\u202e", "日本語", "🙂", "\ufeff", "\uFFFD", "' OR 1=1 --", "'; rm -rf /; '", "\"; rm -rf /; \"", "EOF", "SH", "=", "A=b", "@file", "../../etc/passwd", "/",
	"-", "--", "-x", "--help", "-rf", "+x", strings.Repeat("x", 100_000),
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestArgumentsArriveUnchanged(t *testing.T) {
	b := adaptertest.Bind(t, newTool(fmt.Sprintf(`command = [%q, %q, "--", input.list, "last"]`, executable(t), echoArgumentsMode)))
	for _, list := range [][]string{hostileValues, hostileValues[:3], {}} {
		out, err := b.Do(t.Context(), mustJSON(t, map[string]any{"list": list}))
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Split(strings.TrimSuffix(out["stdout"].(string), "\x00"), "\x00")
		if want := slices.Concat([]string{"--"}, list, []string{"last"}); !slices.Equal(got, want) {
			t.Errorf("got  %.300q\nwant %.300q", got, want)
		}
	}
}

func TestValuesArriveUnchanged(t *testing.T) {
	for name, block := range map[string]string{
		"script":      `script = "printf %s $${input.s}x"`,
		"quoted":      `script = "printf '%s' \"$${input.s}x\""`,
		"bash":        `script = "#!/bin/bash\nprintf %s $${input.s}x"`,
		"environment": "command = [\"sh\", \"-c\", \"printf %sx \\\"$V\\\"\"]\nenv = { V = input.s }",
		"pipe":        "pipe = [[\"sh\", \"-c\", \"printf %sx \\\"$V\\\"\"], [\"cat\"]]\nenv = { V = input.s }",
		"stdin":       "command = [\"cat\"]\nstdin = \"${input.s}x\"",
	} {
		t.Run(name, func(t *testing.T) {
			b := adaptertest.Bind(t, newTool(strings.ReplaceAll(block, "$${", "${")))
			for _, s := range hostileValues {
				out, err := b.Do(t.Context(), mustJSON(t, map[string]any{"s": s}))
				if err != nil {
					t.Errorf("%.60q: %v", s, err)
				} else if got := out["stdout"]; got != strings.TrimPrefix(s+"x", "\ufeff") {
					t.Errorf("%.60q arrived as %.60q", s, got)
				}
			}
			if _, err := os.Stat(b.Dir + "/owned"); err == nil {
				t.Error("a value ran as code")
			}
		})
	}
}

func TestOptionsInValuesAreRejected(t *testing.T) {
	f := runFault(t, `command = ["echo", input.s]`, `{"s":"--help"}`)
	if !strings.Contains(f.Message, "option") {
		t.Error(f.Message)
	}
}

func TestNULIsRejected(t *testing.T) {
	for _, block := range []string{`command = ["echo", input.s]`, `script = "echo ${input.s}"`, "command = [\"env\"]\nenv = { A = input.s }"} {
		f := runFault(t, block, `{"s":"a\u0000b"}`)
		if !strings.Contains(f.Message, "NUL") {
			t.Errorf("%s: %s", block, f.Message)
		}
	}
}
