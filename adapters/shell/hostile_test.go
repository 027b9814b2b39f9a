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

// hostile are values that mean something to a shell, a terminal, a library or a careless program.
var hostile = []string{
	"", " ", "  two  spaces ", "'", `"`, "`id`", "$(id)", "${IFS}", "$HOME", "$0", "$((1/0))", "; touch owned", "| touch owned", "& touch owned", "> owned", "< /etc/passwd",
	"a\nb", "\n", "a\n\n", "a\r\nb", "\t", "*", "?", "[a-z]", "~", "~root", "{a,b}", "\\", "\\n", "a\\", "!", "!!", "#", "%s%n", "%", "\x01\x02\x1b[31m", "\x7f",
	"é", "e\u0301", "\u2028", "\u202e", "日本語", "🙂", "\ufeff", "\uFFFD", "' OR 1=1 --", "'; rm -rf /; '", "\"; rm -rf /; \"", "EOF", "SH", "=", "A=b", "@file", "../../etc/passwd", "/",
	"-", "--", "-x", "--help", "-rf", "+x", strings.Repeat("x", 100_000),
}

func asJSONText(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWordsArriveByteForByte(t *testing.T) {
	b := adaptertest.Bind(t, tool(fmt.Sprintf(`command = [%q, %q, "--", input.list, "last"]`, executable(t), asChild)))
	for _, list := range [][]string{hostile, hostile[:3], {}} {
		out, err := b.Do(t.Context(), asJSONText(t, map[string]any{"list": list}))
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Split(strings.TrimSuffix(out["stdout"].(string), "\x00"), "\x00")
		if want := slices.Concat([]string{"--"}, list, []string{"last"}); !slices.Equal(got, want) {
			t.Errorf("got  %.300q\nwant %.300q", got, want)
		}
	}
}

func TestValuesArriveByteForByte(t *testing.T) {
	for name, block := range map[string]string{
		"script":      `script = "printf %s $${input.s}x"`,
		"quoted":      `script = "printf '%s' \"$${input.s}x\""`,
		"bash":        `script = "#!/bin/bash\nprintf %s $${input.s}x"`,
		"environment": "command = [\"sh\", \"-c\", \"printf %sx \\\"$V\\\"\"]\nenv = { V = input.s }",
		"pipe":        "pipe = [[\"sh\", \"-c\", \"printf %sx \\\"$V\\\"\"], [\"cat\"]]\nenv = { V = input.s }",
		"stdin":       "command = [\"cat\"]\nstdin = \"${input.s}x\"",
	} {
		t.Run(name, func(t *testing.T) {
			b := adaptertest.Bind(t, tool(strings.ReplaceAll(block, "$${", "${")))
			for _, s := range hostile {
				out, err := b.Do(t.Context(), asJSONText(t, map[string]any{"s": s}))
				if err != nil {
					t.Errorf("%.60q: %v", s, err)
				} else if got := out["stdout"]; got != s+"x" {
					t.Errorf("%.60q arrived as %.60q", s, got)
				}
			}
			if _, err := os.Stat(b.Dir + "/owned"); err == nil {
				t.Error("a value ran as code")
			}
		})
	}
}

func TestDashesAreRefusedWhereTheyCouldBeOptions(t *testing.T) {
	f := fault(t, `command = ["ls", input.s]`, `{"s":"--help"}`)
	if !strings.Contains(f.Message, "option") {
		t.Error(f.Message)
	}
}

func TestNULIsRefused(t *testing.T) {
	for _, block := range []string{`command = ["echo", input.s]`, `script = "echo ${input.s}"`, "command = [\"env\"]\nenv = { A = input.s }", "command = [\"pwd\"]\ndir = input.s"} {
		f := fault(t, block, `{"s":"a\u0000b"}`)
		if !strings.Contains(f.Message, "NUL") {
			t.Errorf("%s: %s", block, f.Message)
		}
	}
}
