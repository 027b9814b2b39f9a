package shelltext

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
	"hatchel/hcl/template/templatetest"
)

func TestScriptGoldens(t *testing.T) {
	templatetest.Goldens(t, "script*.txtar", func(t *testing.T, types map[string]template.Type, in string) string {
		s, diags := CompileScript(templatetest.Parse(t, types, in), Inputs{Stdin: "input.stdin"})
		out := templatetest.Render(diags)
		if s != nil {
			out += s.Text() + "\n"
		}
		return out
	})
}

// maxWait is how long a script that ends may take on a busy machine.
const maxWait = time.Minute

// runScript runs a compiled script in an empty folder and fails when it leaves a file after that was not asked for.
func runScript(t *testing.T, s *Script, f frame) string {
	t.Helper()
	env, err := s.Env(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	argv := s.Argv()
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.WaitDelay = dir, maxWait
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s\n%s", err, out, s.Text())
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%v made %s", f, e.Name())
	}
	return string(out)
}

// everywhere has the value in every place that takes any text; each prints it with a NUL after.
const everywhere = `
put() { printf '%s\000' "$@"; }
put ${input.s} "a${input.s}b" a${input.s}b
x=${input.s}; put "$x"
put "$(printf '%s.' ${input.s})"
put "$${nothing:-${input.s}}" $${nothing:-${input.s}}
case ${input.s} in ${input.s}) put ok ;; *) put no ;; esac
case "x${input.s}" in x${input.s}) put ok ;; *) put no ;; esac
y="pre${input.s}"; put "$${y#"pre"}" "$${y#pre}"
z=${input.s}tail; put "$${z%tail}" "$${z#${input.s}}"
for i in ${input.s} 2; do put "$i"; done
set -- ${input.s} b; put "$1"
V=${input.s}; export V; sh -c 'env printf "%s\000" "$V"'; unset V
sh -c 'env printf "%s\000" "$1"' sh ${input.s}
awk 'BEGIN { printf "%s", ENVIRON["W"]; printf "%c", 0 }' </dev/null | cat >/dev/null
W=${input.s} sh -c 'env printf "%s\000" "$W"'
cat <<EOT
${input.s}
EOT
put ""
[ ${input.s} = ${input.s} ] && put same
env | grep -c HATCHEL_V
`

func wantEverywhere(s string) string {
	words := []string{s, "a" + s + "b", "a" + s + "b", s, s + ".", s, s, "ok", "ok", s, s, s, "tail", s, "2", s, s, s, s}
	return strings.Join(words, "\x00") + "\x00" + s + "\n" + "\x00" + "same\x000\n"
}

func TestHostileValuesReachTheProgramUnchanged(t *testing.T) {
	types := templatetest.Types(t, argvTypes)
	for _, shebang := range []string{"", "#!/bin/bash\n"} {
		text := shebang + strings.Replace(everywhere, "env | grep -c HATCHEL_V", "env | grep -c HATCHEL_V || true", 1)
		s, diags := CompileScript(templatetest.Parse(t, types, text), Inputs{})
		if diags.HasErrors() {
			t.Fatal(templatetest.Render(diags))
		}
		for _, v := range hostile {
			if got := runScript(t, s, frame{"s": v}); got != wantEverywhere(v) {
				t.Errorf("%s%q:\ngot  %q\nwant %q", shebang, v, got, wantEverywhere(v))
			}
		}
	}
}

func FuzzValuesReachTheProgramUnchanged(f *testing.F) {
	types := templatetest.Types(f, argvTypes)
	for _, v := range hostile {
		f.Add(v)
	}
	s, diags := CompileScript(templatetest.Parse(f, types, strings.Replace(everywhere, "env | grep -c HATCHEL_V", "env | grep -c HATCHEL_V || true", 1)), Inputs{})
	if diags.HasErrors() {
		f.Fatal(templatetest.Render(diags))
	}
	f.Fuzz(func(t *testing.T, v string) {
		if strings.Contains(v, "\x00") || len(v) > 10000 {
			return
		}
		if got := runScript(t, s, frame{"s": v}); got != wantEverywhere(v) {
			t.Errorf("%q:\ngot  %q\nwant %q", v, got, wantEverywhere(v))
		}
	})
}

// places holds ways of using a value, right and wrong; whatever compiles must not run what the value says.
var places = []string{
	"echo @", "echo '@'", `echo "@"`, "echo `echo @`", "echo $(echo @)", "@", "x=@; $x", "x=@; eval $x", `x=@; eval "echo $x"`, "echo $((@))", "x=@; echo $((x * 2))", "x=@; echo $(( $x ))",
	"x=@; y=$x; echo $((y))", "cat <<E\n@\nE", "cat <<'E'\n@\nE", "# @\ntrue", "echo > @", "x=@; echo > $x", `sh -c "@"`, `sh -c "echo @"`, "sh -c 'echo $1' sh @", "sh -c 'eval \"$1\"' sh @", "sh -c 'echo $(($1))' sh @",
	"x=@; export x; sh -c 'eval $x'", "x=@ sh -c 'eval $x'", `awk "BEGIN { @ }"`, "awk 'BEGIN { @ }'", `echo | sed "s/x/@/"`, "echo x | sed -e @", `perl -e "@"`, `python3 -c "@"`, "find . -exec @ \\;", "find @ -maxdepth 0",
	"echo @ | sh", "printf %s @ | sh", "sh <<E\n@\nE", "echo @ | xargs sh -c", "printf '%s' @ | xargs -I{} sh -c '{}'", "printf '%s' @ | xargs", "trap @ EXIT", "trap \"echo @\" EXIT", ". @", "printf @", `printf "@"`, "printf %s @",
	"for i in @; do echo $((i)); done", "set -- @; echo $(($1))", "set @", "f() { eval \"$1\"; }; f @", "f() { echo $(($1)); }; f @", "f() { x=$1; }; f @; echo $((x))", "echo @ | while read x; do echo $((x)); done",
	"read x <<E\n@\nE\necho $((x))", "x=$(echo @); echo $((x))", "x=$(cat <<E\n@\nE\n); eval \"$x\"", ": ${x:=@}; echo $((x))", "alias l=@", "command @", "exec @", "env @", "env A=@ true", "PATH=@; true", "unset @", "export @", "export x=@",
	"read @ </dev/null", "test -v @", "[ -v @ ]", "[ @ -eq 1 ]", "[ @ = 1 ]", "case @ in *) true ;; esac", "case x in @) true ;; esac", "echo ${x:-@}", "echo \"${x:-@}\"", "x=a; echo ${x#@}", "x=a; echo \"${x%@}\"", "kill @", "cd @", "ls -- @", "x=@; echo \"${x}\"",
	"x=@; echo ${#x}", "x=@; n=${#x}; echo $((n))", "n=$(printf %d @ 2>/dev/null); echo $((n))", "make -f /dev/null X=@", "tar --to-command=@", "git -c core.pager=@ version", "\\@", "$@", "echo \\@", "echo ~@", "echo @@", "echo {@,b}", "alias l='echo $((x))'\nx=@\nl", "f() { sh; }; echo @ | f", "f() { while read x; do echo $((x)); done; }; echo @ | f", "f() { echo \"$1\"; }; x=$(f @); eval \"$x\"", "f() { g \"$@\"; }; g() { eval \"$1\"; }; f @", "{ read x; eval \"$x\"; } <<E\n@\nE", "(echo @) | (sh)", "if echo @; then true; fi | sh", "nohup sh -c \"@\"", "timeout 5 sh -c \"@\"", "nice @", "xargs -a /dev/null @", "printf '%s\n' @ | sed -f -", "printf '%s\n' @ | awk -f - /dev/null", "awk -f /dev/stdin <<E\n@\nE", "printf '%s\n' @ | python3", "printf '%s\n' @ | perl -", "printf '%s\n' @ | env sh", "printf '%s\n' @ | timeout 5 sh", "printf '%s\n' @ | sudo -n sh", "! @", "if @; then true; fi", "x=(@)",
}

var bashPlaces = []string{
	"[[ @ -eq 1 ]]", "[[ -v @ ]]", "x=@; [[ x -eq 1 ]]", "x=@; (( x ))", "(( @ ))", "let @", "let x=@", "a=(1); echo ${a[@]}", "x=@; a=(1); echo ${a[x]}", "x=@; echo ${!x}", "x=@; echo ${x@P}", "printf -v @ x", "declare @", "declare x=@; echo $((x))", "declare -n x=@; echo $x",
	"x=abc; echo ${x:@}", "x=@; echo ${x:0:3}", "x=a; echo ${x/a/@}", "x=a; echo \"${x/a/@}\"", "x=a; echo ${x/@/b}", "cat <<< @", "sh <<< @", "echo $'@'", "cat <(echo @)", "mapfile -t m <<< @; echo $((m))", "[[ x == @ ]]", "[[ x =~ @ ]]", "read -a m <<< @; echo $((m[0]))", "test -v @", "[ @ -eq 1 ]",
	"for ((i=@; i<1; i++)); do true; done", "unset 'a[@]'", "declare -i x=@", "local x=@", "wait @", "x=@; echo ${x^^}", "source @", "x+=@; echo $((x))", "readonly x=@; echo $((x))", "select x in @; do break; done </dev/null", "declare -i y; x=@; y=x",
	"RANDOM=@", "read SECONDS <<< @", "for LINENO in @; do true; done", "printf -v RANDOM %s @", "compgen -W @", "enable -f @ x", "hash -p @ ls; ls", "a=(@); echo $((a))", "a=(@ b); echo $((a[0]))", "declare -A m; m[@]=1", "declare -A m; m[a]=@; echo ${m[a]}",
	"x=@; echo ${y[$x]}", "x=@; y=$x; z=(1); echo ${z[y]}", "x=@; typeset -i n=x", "f() { local -i n=$1; }; f @", "while read -r a b; do ((a)); done <<< @", "readarray -t m < <(printf '%s' @); echo $((m[0]))", "x=@; [[ $x -gt 1 ]]", "x=@; [[ a -nt $x ]]",
	"x=@; echo $(($(echo $x)))", "x=@; printf '%d' $x", "x=@; printf '%(%F)T' \"$x\"", "x=@; exec {x}>/dev/null", "x=@; ulimit -n $x", "x=@; test $x", "x=@; [ $x -lt 5 ]", "x=@; sleep $x", "x=@; exit $x", "x=@; shift $x", "f() { return $1; }; f @", "x=@; echo {1..$x}", "x=@; coproc $x",
	"x=@; y=x; echo ${!y}", "x=@; declare y=$x; (( y++ ))", "x=@; : $[x]", "x=@; a[x]=1", "x=@; a[$x]=1", "x=@; unset \"a[$x]\"", "x=@; [ -v \"a[$x]\" ]", "x=@; read \"a[$x]\" <<< 1", "x=@; printf -v \"a[$x]\" 1", "x=@; export \"$x\"", "x=@; wait -n $x", "x=@; kill -s $x 1", "x=@; pushd $x", "x=@; jobs -x $x", "PS4=@; set -x; true", "x=@; let y=x+1",
	"sh < <(echo @)", "echo @ > >(sh); wait", "echo @ | tee >(sh) >/dev/null; sleep 0.1", "coproc sh; echo @ >&${COPROC[1]}", "exec 3<<< @; read x <&3; echo $((x))", "exec 3<<< @; read -u 3 x; echo $((x))", "exec 3<<< @; sh <&3", "echo @ >f; read x <f; rm f; echo $((x))", "echo @ >f; x=$(cat f); rm f; echo $((x))",
	"trap 'echo $((x))' EXIT; x=@", "x=@; eval 'echo $((x))'", "sh -c 'eval $0' @", "printf '%s' @ | xargs -0 bash -c 'echo $(($1))' _", "find . -maxdepth 0 -exec bash -c 'echo $(($1))' _ @ \\;", "env A=@ bash -c 'echo $((A))'", "true @; echo $(($_))", "[[ @ =~ .* ]]; echo $((BASH_REMATCH))", "set @; echo $((_))", "bash -c 'bash -c \"eval \\$1\" _ \"$1\"' _ @",
	"x=@; test -t $x", "x=@; umask $x", "x=@; type $x", "x=@; command -v $x", "x=@; bash -c 'echo $((x))' ; true", "export x=@; bash -c 'echo $((x))'", "x=@ bash -c '(( x ))'", "bash -c '[[ $1 -eq 1 ]]' _ @", "bash -s @ <<< 'echo $1'", "bash <<< 'echo hi'", "x=@; bash <<< \"echo $x\"", "bash <(echo @)", ". <(echo @)", "source /dev/stdin <<< @", "eval \"$(printf %s @)\"", "x=@; eval 'echo $x'", "x=@; y='$x'; eval \"echo $y\"",
}

func TestWhateverCompilesRunsNothingOfTheValue(t *testing.T) {
	types := templatetest.Types(t, argvTypes)
	payloads := []string{"touch pwned", "$(touch pwned)", "`touch pwned`", "a[$(touch pwned)]", "x[`touch pwned`]", "; touch pwned", "';touch pwned;'", "\";touch pwned;\"", ");touch pwned;(", "system(\"touch pwned\")", "e touch pwned", "BEGIN{system(\"touch pwned\")}", "import os; os.system('touch pwned')", "system('touch pwned')", "-exec", "1e touch pwned", "\nE\ntouch pwned", "pwned", "x}$(touch pwned)"}
	run := 0
	for i, list := range [][]string{places, bashPlaces} {
		for _, place := range list {
			text := strings.ReplaceAll(strings.ReplaceAll(place, "${", "$${"), "@", "${input.s}")
			if i == 1 {
				text = "#!/bin/bash\n" + text
			}
			s, diags := CompileScript(templatetest.Parse(t, types, text), Inputs{})
			if (s == nil) != diags.HasErrors() {
				t.Errorf("%s: a script and errors", text)
			}
			if s == nil {
				continue
			}
			run++
			for _, p := range payloads {
				env, err := s.Env(frame{"s": p})
				if err != nil {
					t.Fatal(err)
				}
				dir := t.TempDir()
				argv := s.Argv()
				ctx, cancel := context.WithTimeout(t.Context(), maxWait)
				cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
				cmd.WaitDelay = maxWait
				cmd.Dir, cmd.Env = dir, append([]string{"PATH=" + os.Getenv("PATH")}, env...)
				out, _ := cmd.CombinedOutput() // many are wrong uses that fail, which is fine
				if ctx.Err() != nil {
					t.Errorf("%s with %q did not end", text, p)
				}
				cancel()
				if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
					t.Errorf("%s ran %q: %s", text, p, out)
				}
			}
		}
	}
	if run < 30 {
		t.Errorf("only %d places compiled", run)
	}
}

func TestTextNeverDependsOnTheCall(t *testing.T) {
	types := templatetest.Types(t, argvTypes)
	s, diags := CompileScript(templatetest.Parse(t, types, "printf '%s' ${input.s} ${input.n} ${input.t}"), Inputs{})
	if diags.HasErrors() {
		t.Fatal(templatetest.Render(diags))
	}
	before := s.Text()
	env, err := s.Env(frame{"s": "$(x)", "n": 5})
	if err != nil || s.Text() != before || len(env) != 3 || env[2] != "HATCHEL_V2=" {
		t.Errorf("%q %v %s", env, err, s.Text())
	}
	for _, v := range []any{"a\x00b", []any{}, map[string]any{}, strings.Repeat("a", 1<<18)} {
		if _, err := s.Env(frame{"s": v}); err == nil {
			t.Errorf("%T was accepted", v)
		}
	}
}

func TestNamesOfTheAuthorAreLeftAlone(t *testing.T) {
	types := templatetest.Types(t, argvTypes)
	s, diags := CompileScript(templatetest.Parse(t, types, `_v0=mine; printf '%s' "$_v0" ${input.s}`), Inputs{})
	if diags.HasErrors() {
		t.Fatal(templatetest.Render(diags))
	}
	if got := runScript(t, s, frame{"s": "theirs"}); got != "minetheirs" {
		t.Errorf("%q: %s", got, s.Text())
	}
}

func TestTameValuesStandAnywhereAWordCan(t *testing.T) {
	types := templatetest.Types(t, argvTypes)
	s, diags := CompileScript(templatetest.Parse(t, types, "x=${input.n}; echo $((x * ${input.n})) '${input.n}' `echo ${input.n}`; awk 'BEGIN { print ${input.n} + 1 }'; [ ${input.b} = true ] && echo yes # ${input.n}"), Inputs{})
	if diags.HasErrors() {
		t.Fatal(templatetest.Render(diags))
	}
	if got, want := runScript(t, s, frame{"n": 7, "b": true}), "49 7 7\n8\nyes\n"; got != want {
		t.Errorf("%q", got)
	}
}

func TestEveryByteButNulArrives(t *testing.T) {
	types := templatetest.Types(t, argvTypes)
	s, diags := CompileScript(templatetest.Parse(t, types, `printf '%s' ${input.s}`), Inputs{})
	if diags.HasErrors() {
		t.Fatal(templatetest.Render(diags))
	}
	var all bytes.Buffer
	for b := 1; b < 256; b++ {
		all.WriteByte(byte(b))
	}
	if got := runScript(t, s, frame{"s": all.String()}); got != all.String() {
		t.Errorf("%q", got)
	}
}

// FuzzScriptsCompileOrSayWhy puts a value at every @ of any text.
func FuzzScriptsCompileOrSayWhy(f *testing.F) {
	for _, list := range [][]string{places, bashPlaces} {
		for _, place := range list {
			f.Add(place, false)
			f.Add("#!/bin/bash\n"+place, true)
		}
	}
	f.Fuzz(func(t *testing.T, text string, tame bool) {
		h := &template.Interpolation{Source: "input.x", Type: template.Type{Kind: template.String}, Value: func(template.Frame) (any, error) { return "x", nil }}
		if tame {
			h.Type.Kind = template.Integer
		}
		tree := &template.Tree{}
		for i, part := range strings.Split(text, "@") {
			if i > 0 {
				tree.Nodes = append(tree.Nodes, h)
			}
			tree.Nodes = append(tree.Nodes, &template.Text{Value: part, Place: func(from, to int) hclv2.Range {
				if from < 0 || from > to || to > len(part) {
					t.Fatalf("no place %d to %d in %q", from, to, part)
				}
				return hclv2.Range{Start: hclv2.Pos{Byte: from}, End: hclv2.Pos{Byte: to}}
			}})
		}
		s, diags := CompileScript(tree, Inputs{})
		if (s == nil) != diags.HasErrors() {
			t.Fatalf("%q: %v", text, diags)
		}
		if s == nil {
			return
		}
		if env, err := s.Env(nil); err != nil || len(env) != strings.Count(text, "@") {
			t.Fatalf("%q: %v %v", text, env, err)
		}
	})
}
