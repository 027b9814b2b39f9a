package shelltext

import (
	"bytes"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"hatchel/hcl/template"
	"hatchel/hcl/template/templatetest"
)

// The test binary is the child whose words the tests look at.
func TestMain(m *testing.M) {
	if os.Getenv("PRINT_WORDS") != "" {
		for _, w := range os.Args[1:] {
			os.Stdout.WriteString(w + "\x00")
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestArgvGoldens(t *testing.T) {
	templatetest.Goldens(t, "argv*.txtar", func(t *testing.T, types map[string]template.Type, in string) string {
		_, diags := CompileArgv(argsOf(t, types, in), inputsOf(types))
		return templatetest.Render(diags)
	})
}

// inputsOf returns what the types stdin and env_NAME stand for.
func inputsOf(types map[string]template.Type) Inputs {
	in := Inputs{Env: map[string]InputValue{}}
	for name, t := range types {
		if variable, ok := strings.CutPrefix(name, "env_"); ok {
			in.Env[variable] = InputValue{"input." + strings.ToLower(variable), t}
		} else if name == "stdin" {
			in.Stdin = "input.stdin"
		}
	}
	return in
}

func TestPipeGoldens(t *testing.T) {
	templatetest.Goldens(t, "pipe*.txtar", func(t *testing.T, types map[string]template.Type, in string) string {
		_, diags := CompilePipe(argsOf(t, types, in), inputsOf(types))
		return templatetest.Render(diags)
	})
}

const argvTypes = `
s string
t string?
n integer
m number?
e enum -a b
l list string
k list? integer
b bool
any any
dir known /srv
`

func TestArgvBindsByProvenance(t *testing.T) {
	types := templatetest.Types(t, argvTypes)
	for _, test := range []struct {
		in   string
		f    frame
		want []string // nil with refused
		err  string
	}{
		{`["tool", "-l", input.s]`, frame{"s": "a b"}, []string{"tool", "-l", "a b"}, ""},
		{`["tool", input.s]`, frame{"s": "-rf"}, nil, `input.s begins with "-"`},
		{`["tool", "--", input.s]`, frame{"s": "-rf"}, []string{"tool", "--", "-rf"}, ""},
		{`["tool", input.n]`, frame{"n": -5}, []string{"tool", "-5"}, ""},
		{`["tool", input.e]`, frame{"e": "-a"}, []string{"tool", "-a"}, ""},
		{`["tool", input.b ? "-a" : null]`, frame{"b": true}, []string{"tool", "-a"}, ""},
		{`["tool", input.b ? "-a" : null]`, frame{"b": false}, []string{"tool"}, ""},
		{`["tool", "%{if input.b}-a%{else}-b%{endif}"]`, frame{"b": false}, []string{"tool", "-b"}, ""},
		{`["tool", "%{if input.b}-a%{endif}${input.s}"]`, frame{"b": false, "s": "-x"}, nil, `input.s begins with "-"`},
		{`["tool", "${input.s}.txt"]`, frame{"s": "-x"}, nil, `input.s begins with "-"`},
		{`["tool", "${input.s}${input.any}"]`, frame{"s": "", "any": "-x"}, nil, `input.any begins with "-"`},
		{`["tool", "n=${input.t}", "x"]`, frame{"t": nil}, []string{"tool", "x"}, ""},
		{`["tool", input.l, "x"]`, frame{"l": []any{"a", "b"}}, []string{"tool", "a", "b", "x"}, ""},
		{`["tool", input.l]`, frame{"l": []any{"a", "-b"}}, nil, `input.l begins with "-"`},
		{`["tool", input.l]`, frame{"l": []any{}}, []string{"tool"}, ""},
		{`["tool", input.k]`, frame{"k": []any{1, -2}}, []string{"tool", "1", "-2"}, ""},
		{`["tool", ["-n", input.t], "x"]`, frame{"t": nil}, []string{"tool", "x"}, ""},
		{`["tool", ["-n", input.t], "x"]`, frame{"t": "a"}, []string{"tool", "-n", "a", "x"}, ""},
		{`["tool", ["--", input.t], input.s]`, frame{"t": nil, "s": "-x"}, nil, `input.s begins with "-"`},
		{`["tool", "-n", input.any]`, frame{"any": nil}, nil, "-n needs a value"},
		{`["tool", input.any]`, frame{"any": map[string]any{}}, nil, "it is an object"},
		{`["tool", "a${input.any}"]`, frame{"any": []any{1}}, nil, "it is a list"},
		{`["tool", input.s]`, frame{"s": "a\x00b"}, nil, "NUL"},
		{`["tool", input.s]`, frame{"s": strings.Repeat("a", 1<<17)}, nil, "send less"},
		{`["tool", "${var.dir}/x", var.dir]`, frame{}, []string{"tool", "/srv/x", "/srv"}, ""},
		{`["tool", under("/srv", input.s)]`, frame{"s": "-x"}, []string{"tool", "/srv/-x"}, ""},
		{`["sudo", "--", "tool", input.s]`, frame{"s": "-x"}, nil, `input.s begins with "-"`},
		{`["sudo", "--", "tool", "--", input.s]`, frame{"s": "-x"}, []string{"sudo", "--", "tool", "--", "-x"}, ""},
		{`["tool", "%{for x in input.l}${x},%{endfor}"]`, frame{"l": []any{"a", "b"}}, []string{"tool", "a,b,"}, ""},
	} {
		a, diags := CompileArgv(argsOf(t, types, test.in), Inputs{})
		if diags.HasErrors() {
			t.Errorf("%s: %s", test.in, templatetest.Render(diags))
			continue
		}
		got, err := a.Bind(test.f, nil)
		if err != nil && (test.err == "" || !strings.Contains(err.Error(), test.err)) || err == nil && !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s with %v: got %q, %v; want %q, %q", test.in, test.f, got, err, test.want, test.err)
		}
	}
}

func TestPipeLeavesOutNullStages(t *testing.T) {
	types := templatetest.Types(t, argvTypes)
	p, diags := CompilePipe(argsOf(t, types, `[["ps"], input.b ? ["grep", "--", input.s] : null, ["sort"]]`), Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, on := range []bool{true, false} {
		got, err := p.Bind(frame{"b": on, "s": "-x"}, []int{3})
		want := []StageWords{{[]string{"ps"}, []int{3}}, {[]string{"grep", "--", "-x"}, exitZero}, {[]string{"sort"}, exitZero}}
		if !on {
			want = []StageWords{want[0], want[2]}
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: got %v, %v", on, got, err)
		}
	}
}

var hostile = []string{
	"", " ", "a b", "$(touch pwned)", "`touch pwned`", "; touch pwned", "& touch pwned &", "| touch pwned", "\ntouch pwned\n", "'; touch pwned; '", `"; touch pwned; "`,
	"$((a[$(touch pwned)]))", "a[$(touch pwned)]", "${IFS}", "$HOME", "~", "~root", "*", "?", "[a-z]*", "{a,b}", "-rf", "--", "-", "-n", "-e", "\\", "\\n", "\\\\", "\\c", "'", `"`, `'"'"'`, "`",
	"!", "!!", "#x", "%s", "%n", "a\tb", "trailing\n", "\n\n", "\r\n", "ünïcødé", "日本語", "e\u0301", "\xff\xfe", "\x81\x82\x88", "\x01\x02\x1b[31m\x7f", "EOF", "\nEOF\ntouch pwned\n",
	"() { :;}; touch pwned", "x=1", "PATH=.", "<(touch pwned)", ">pwned", "$'\\x41'", "&amp;", "${_v0}", "$_v1", "$0", "$@", "$$", "/etc/passwd", "../../x", strings.Repeat("A", 4096),
}

func TestHostileWordsReachTheChildUnchanged(t *testing.T) {
	types := templatetest.Types(t, argvTypes)
	a, diags := CompileArgv(argsOf(t, types, `["child", "--", input.s, "x${input.s}y", input.l, "${input.any}"]`), Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, s := range hostile {
		words, err := a.Bind(frame{"s": s, "l": []any{s, s}, "any": s}, nil)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], words[1:]...)
		cmd.Env = []string{"PRINT_WORDS=1", "GORACE=atexit_sleep_ms=0"} // a race-built child would sleep a second
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Join([]string{"--", s, "x" + s + "y", s, s, s, ""}, "\x00")
		if !bytes.Equal(out, []byte(want)) {
			t.Errorf("%q arrived as %q", s, out)
		}
	}
}

func FuzzArgvNeverGivesAnOptionAway(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, s)
	}
	types := templatetest.Types(f, argvTypes)
	a, diags := CompileArgv(argsOf(f, types, `["child", input.s, "${input.s}${input.t}", "x${input.t}"]`), Inputs{})
	if diags.HasErrors() {
		f.Fatal(diags)
	}
	f.Fuzz(func(t *testing.T, x, y string) {
		words, err := a.Bind(frame{"s": x, "t": y}, nil)
		if err != nil {
			return
		}
		for _, w := range words {
			if strings.HasPrefix(w, "-") || strings.Contains(w, "\x00") {
				t.Errorf("%q from %q and %q", words, x, y)
			}
		}
		if len(words) != 4 || words[1] != x || words[2] != x+y || words[3] != "x"+y {
			t.Errorf("%q from %q and %q", words, x, y)
		}
	})
}
