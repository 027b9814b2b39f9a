package shell

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseOutput(t *testing.T) {
	for name, c := range map[string]struct {
		block, member string
		want          any
	}{
		"text":                 {`command = ["printf", "a\\nb\\n"]`, "stdout", "a\nb\n"},
		"stderr":               {`script = "echo a; echo b >&2"`, "stderr", "b\n"},
		"merged in order":      {"script = \"echo a; echo b >&2; echo c\"\nstderr = \"merge\"", "stdout", "a\nb\nc\n"},
		"merged is empty":      {"script = \"echo b >&2\"\nstderr = \"merge\"", "stderr", ""},
		"json":                 {"script = \"echo '{\\\"a\\\": [1, 2.50, 12345678901234567890]}'\"\nparse = \"json\"", "json", nil},
		"jsonl":                {"script = \"printf '1\\\\n\\\\n {\\\"a\\\":null} \\\\r\\\\n\\\"x\\\"'\"\nparse = \"jsonl\"", "json", []any{1, map[string]any{"a": nil}, "x"}},
		"jsonl of nothing":     {"command = [\"true\"]\nparse = \"jsonl\"", "json", []any{}},
		"lines":                {"command = [\"printf\", \"a\\\\r\\\\n\\\\nb\"]\nparse = \"lines\"", "lines", []any{"a", "", "b"}},
		"cut lines":            {"command = [\"printf\", \"a\\nb\\nccccccccc\"]\nparse = \"lines\"\nmax_output = 10", "lines", []any{"a", "b"}},
		"lines of nothing":     {"command = [\"true\"]\nparse = \"lines\"", "lines", []any{}},
		"accepted code":        {"command = [\"sh\", \"-c\", \"exit 3\"]\nok_codes = [0, 3]", "code", 3},
		"accepted signal":      {"script = \"kill $$\"\nok_codes = [143]", "code", 143},
		"code of a pipe":       {`pipe = [{ command = ["sh", "-c", "exit 3"], ok_codes = [0, 3] }, ["cat"]]`, "code", 3},
		"unread output":        {`pipe = [["yes"], ["head", "-n", "1"]]`, "stdout", "y\n"},
		"unread by a shell":    {`pipe = [["sh", "-c", "yes; exit $?"], ["head", "-n", "1"]]`, "stdout", "y\n"},
		"stage left out":       {`pipe = [["echo", "b"], input.t == null ? null : ["tr", "b", "c"], ["cat"]]`, "stdout", "b\n"},
		"first stage left out": {"pipe = [input.t == null ? null : [\"echo\", \"b\"], [\"cat\"]]\nstdin = \"in\"", "stdout", "in"},
	} {
		t.Run(name, func(t *testing.T) {
			got := mustRun(t, c.block, `{}`)[c.member]
			if c.want == nil {
				got, c.want = mustJSON(t, got), `{"a":[1,2.5,12345678901234567890]}`
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%#v", got)
			}
		})
	}
}

func TestParseOutputErrors(t *testing.T) {
	for name, c := range map[string]struct{ block, want string }{
		"no json":       {"command = [\"echo\", \"Hello\"]\nparse = \"json\"", `echo wrote something that is not JSON: line 1, column 1: a value is expected, at "Hello"`},
		"broken later":  {"script = \"printf '{\\\"é\\\": 1,\\\\n  \\\"b\\\": x}'\"\nparse = \"json\"", `the script wrote something that is not JSON: line 2, column 8: a value is expected, at "x}"`},
		"broken off":    {"script = \"printf '[1, '; echo warned >&2\"\nparse = \"json\"", `the script wrote something that is not JSON: line 1, column 5: the text ends where a value is expected; its error output ends with: warned`},
		"nothing":       {"command = [\"true\"]\nparse = \"json\"", `true wrote nothing, but JSON is expected`},
		"third line":    {"script = \"printf '1\\\\n2\\\\n{]\\\\n4\\\\n'\"\nparse = \"jsonl\"", `the script wrote something that is not JSON: line 3, column 2: a key is expected, at "]"`},
		"not text":      {"script = \"printf '\\\"\\\\377\\\"'\"\nparse = \"json\"", `the script wrote text that is not UTF-8: 0xFF at byte 2, in line 1; the tool must name the encoding, such as encoding = "windows-1252", or use as = "bytes"`},
		"too much":      {"command = [\"seq\", \"100000\"]\nparse = \"jsonl\"\nmax_output = \"4KiB\"", `seq wrote 575.1 KiB, but at most 4 KiB can be read as data; request less`},
		"last of pipes": {"pipe = [[\"echo\", \"Hello\"], [\"cat\"]]\nparse = \"json\"", `cat (command 2 of 2) wrote something`},
	} {
		t.Run(name, func(t *testing.T) {
			if f := runFault(t, c.block, `{}`); !strings.Contains(f.Message, c.want) {
				t.Error(f.Message)
			}
		})
	}
}

func TestHugeOutputKeepsHeadAndTail(t *testing.T) {
	out := mustRun(t, "script = \"echo begin; head -c 30000000 /dev/zero | tr '\\\\0' x; echo; echo end; seq 1 3000000 >&2\"\nmax_output = \"64KiB\"", `{}`)
	for member, ends := range map[string][2]string{"stdout": {"begin\nxxx", "xxx\nend\n"}, "stderr": {"1\n2\n", "\n3000000\n"}} {
		text := out[member].(string)
		if len(text) > 66_000 || !strings.HasPrefix(text, ends[0]) || !strings.HasSuffix(text, ends[1]) || !strings.Contains(text, " bytes truncated ...]\n") {
			t.Errorf("%s has %d bytes: %.40q … %q", member, len(text), text, text[max(0, len(text)-40):])
		}
	}
}

func TestStandardInput(t *testing.T) {
	for name, c := range map[string]struct{ stdin, want string }{
		"none":    {``, ""},
		"null":    {`stdin = input.t`, ""},
		"empty":   {`stdin = ""`, ""},
		"text":    {`stdin = "é${input.n}\n"`, "é0\n"},
		"number":  {`stdin = input.n`, "0"},
		"object":  {`stdin = input.o`, `{"a":1,"b":"x"}`},
		"list":    {`stdin = [1, "a", null]`, `[1,"a",null]`},
		"literal": {`stdin = { z = input.n, a = true }`, `{"a":true,"z":0}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mustRun(t, "command = [\"cat\"]\n"+c.stdin, `{"o":{"a":1,"b":"x"}}`)["stdout"]; got != c.want {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestLargeInput(t *testing.T) {
	text := strings.Repeat("0123456789", 300_000)
	arguments := mustJSON(t, map[string]any{"s": text})
	if out := mustRun(t, "command = [\"cat\"]\nstdin = input.s\nmax_output = \"4MiB\"", arguments); out["stdout"] != text {
		t.Errorf("%d bytes came back", len(out["stdout"].(string)))
	}
	// Programs need not read all of their input.
	for _, block := range []string{`command = ["head", "-c", "10"]`, `command = ["echo", "0123456789"]`} {
		if out := mustRun(t, block+"\nstdin = input.s", arguments); !strings.HasPrefix(out["stdout"].(string), "0123456789") {
			t.Errorf("%.50q", out["stdout"])
		}
	}
}
