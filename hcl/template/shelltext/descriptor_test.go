package shelltext

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hatchel/hcl/template/templatetest"
)

// binders give the text VALUE a place, of which number is the descriptor.
var binders = []struct{ text, number string }{
	{"exec 3<<< VALUE", "3"},
	{"exec 3<<E\nVALUE\nE\n", "3"},
	{"exec 3< <(printf '%s\\n' VALUE)", "3"},
	{"exec {q}<<< VALUE", "$q"},
	{"exec {q}<<< VALUE; q2=$q", "$q2"},
	{"exec <<< VALUE", "0"},
	{"exec 0<<< VALUE", "0"},
	{"exec 3<<< VALUE; exec 7<&3 3<&-", "7"},
	{"exec 3<<< VALUE; exec 0<&3", "0"},
	{"exec 3<<< VALUE; exec <&3-", "0"},
	{"x=VALUE; exec 5<<< \"$x\"", "5"},
	{"bind() { exec 6<<< \"$1\"; }; bind VALUE", "6"},
	{"printf '%s\\n' VALUE > f; exec 3< f", "3"},
	{"printf '%s\\n' VALUE | tee f >g; exec 3< g", "3"},
	{"n=f; printf '%s\\n' VALUE > $n; exec 4< f", "4"},
	{"coproc C { printf '%s\\n' VALUE; }; exec 8<&\"${C[0]}\"", "8"},
	{"mkfifo p; printf '%s\\n' VALUE > p & exec 3< p", "3"},
	{"exec 4> >(cat > f); printf '%s\\n' VALUE >&4; exec 4>&-; wait; exec 3< f", "3"},
	{"cat <<< VALUE >& f; exec 3< f", "3"},
}

// runners run the text that is in the descriptor NUMBER.
var runners = []string{
	". /dev/fd/NUMBER", "source /dev/fd/NUMBER", "sh /dev/fd/NUMBER", "bash /proc/self/fd/NUMBER", "sh /proc/$$/fd/NUMBER", "sh <&NUMBER", "bash -s 0<&NUMBER", "sh 0>&NUMBER", "exec 9<&NUMBER; . /dev/fd/9",
	"d=/dev/fd; . $d/NUMBER", "a=/dev/f; b=d/NUMBER; . $a$b", "a=/dev; a+=/fd/NUMBER; . \"$a\"", "for i in NUMBER; do . /dev/fd/$i; done", "set -- /dev/fd/NUMBER; . \"$1\"", "r() { . \"$1\"; }; r /dev/fd/NUMBER", "c=(sh /dev/fd/NUMBER); \"${c[@]}\"", "{sh,/dev/fd/NUMBER}",
	"p=$(echo /dev/fd/NUMBER); . $p", ". /dev/./fd//NUMBER", ". $'/dev/\\x66d/'NUMBER", "cd /dev/fd; . ./NUMBER", "ln -sf /dev/fd/NUMBER l; . ./l", "cp /dev/fd/NUMBER h; sh h", "cat <&NUMBER > h; n=h; sh $n", "cat /dev/fd/NUMBER | sh", "cat <&NUMBER | bash -s",
	"read -r -u NUMBER l; eval \"$l\"", "read -ruNUMBER l; eval \"$l\"", "o=-u; read -r $o NUMBER l; eval \"$l\"", "read -r l <&NUMBER; eval \"$l\"", "mapfile -u NUMBER m; eval \"${m[0]}\"", "mapfile -t m <&NUMBER; ${m[0]}", "x=$(cat <&NUMBER); eval \"$x\"", "x=$(cat /dev/fd/NUMBER); bash -c \"$x\"", "x=$(</dev/fd/NUMBER); $x",
	"xargs -I{} sh -c '{}' <&NUMBER", "xargs -a /dev/fd/NUMBER -I{} sh -c '{}'", "while read -r l <&NUMBER; do $l; break; done", "while read -r l; do $l; done <&NUMBER", "find . -maxdepth 0 -exec sh /dev/fd/NUMBER \\;", "bash -c \". /dev/fd/$(echo NUMBER)\"", "bash -c '. $0' /dev/fd/NUMBER", "bash -c '. \"$1\"' _ /dev/fd/NUMBER",
	"trap '. /dev/fd/7' EXIT; exec 7<&NUMBER", "BASH_ENV=/dev/fd/NUMBER bash -c :", "eval \". /dev/fd/NUMBER\"", "{ . /dev/fd/5; } 5<&NUMBER", "(exec sh <&NUMBER)", "cat <&NUMBER > >(sh); sleep 0.2", "coproc sh <&NUMBER; wait",
}

// readers use the text as data.
var dataReaders = []string{
	"cat <&NUMBER", "wc -c <&NUMBER", "while IFS= read -r l; do printf '%s\\n' \"$l\"; done <&NUMBER", "grep -c pwned <&NUMBER || true", "x=$(cat <&NUMBER); printf '%s' \"${#x}\"", "mapfile -t m <&NUMBER; printf '%s\\n' \"${m[@]}\"", "cat <&NUMBER > out; wc -c out", "read -r l <&NUMBER; printf '%s' \"$l\"", "sort <&NUMBER | uniq -c", "printf '%s' \"$(cat <&NUMBER)\"",
}

// around are the statements that a reader is part of; it is written _.
var around = []string{"_", "{ _\n}", "( _\n)", "if true; then _\nfi", "go() { _\n}; go", "for j in 1; do _\ndone"}

const descriptorPayload = "touch pwned"

// runBash runs a script in an empty directory and reports whether the payload has run. Functions nest at most 50 times, so
// that a script whose function calls itself ends at once.
func runBash(t *testing.T, argv, env []string) (ran bool, out string) {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = 100 * time.Millisecond
	cmd.Dir, cmd.Env = dir, append([]string{"PATH=" + os.Getenv("PATH"), "FUNCNEST=50"}, env...)
	text, _ := cmd.CombinedOutput()
	_, err := os.Stat(filepath.Join(dir, "pwned"))
	return err == nil, string(text)
}

func TestTextInADescriptorIsRunByNoScriptThatLoads(t *testing.T) {
	types := templatetest.Types(t, argvTypes)
	real, n := 0, 0
	for i, bind := range binders {
		for k, run := range runners {
			n++
			place := around[(i+k)%len(around)]
			text := "#!/bin/bash\n" + bind.text + "\n" + strings.Replace(place, "_", strings.ReplaceAll(run, "NUMBER", bind.number), 1)
			s, diags := CompileScript(templatetest.Parse(t, types,
				strings.ReplaceAll(strings.ReplaceAll(text, "${", "$${"), "VALUE", "${input.s}")), Inputs{})
			if s != nil {
				t.Errorf("loads: %q", text)
				env, err := s.Env(frame{"s": descriptorPayload})
				if err != nil {
					t.Fatal(err)
				}
				if ran, out := runBash(t, s.Argv(), env); ran {
					t.Errorf("ran the value: %q: %s", text, out)
				}
				continue
			}
			for _, d := range diags {
				if d.Summary == "Shell syntax error" || d.Summary == "Not in this shell" {
					t.Errorf("%s: %q", d.Detail, text)
				}
			}
			if (i*len(runners)+k)%17 == 0 { // the refused scripts do run the value
				if ran, _ := runBash(t, []string{"/bin/bash", "-c", strings.ReplaceAll(text, "VALUE", `"$V"`)}, []string{"V=" + descriptorPayload}); ran {
					real++
				}
			}
		}
	}
	if real*17 < n/2 {
		t.Errorf("only %d of %d scripts that were tried without the check run the value", real, n/17)
	}
}

func TestScriptsThatOnlyReadADescriptorLoad(t *testing.T) {
	types := templatetest.Types(t, argvTypes)
	for i, bind := range binders {
		for k, read := range dataReaders {
			place := around[(i+k)%len(around)]
			text := "#!/bin/bash\n" + bind.text + "\n" + strings.Replace(place, "_", strings.ReplaceAll(read, "NUMBER", bind.number), 1)
			_, diags := CompileScript(templatetest.Parse(t, types,
				strings.ReplaceAll(strings.ReplaceAll(text, "${", "$${"), "VALUE", "${input.s}")), Inputs{})
			if diags.HasErrors() {
				t.Errorf("%q: %s", text, templatetest.Render(diags))
			}
		}
	}
}
