package shell

import (
	"os/exec"
	"strings"
	"testing"

	"hatchel/adapters/adaptertest"
	"hatchel/internal/printable"
)

func TestDryRun(t *testing.T) {
	for name, c := range map[string]struct{ block, want string }{
		"command": {"command = [\"echo\", \"-e\", input.s, \"--\", input.list]\nstdin = \"abc\"\ninherit_env = [\"KUBECONFIG\"]", `echo -e 'it'\''s $HOME' -- a 'b c'
in DIR
env inherited: KUBECONFIG
stdin 3 bytes:
abc
`},
		"pipe": {"pipe = [[\"echo\", \"\"], [\"tr\", \"a\", \"b\"]]\ndir = \"/usr\"\nenv = { A = input.s, B = secret.k }", `echo '' | tr a b
in /usr
env A='it'\''s $HOME'
env B=(secret)
`},
		"confined": {"command = [\"ls\"]\ndir = \"/usr\"\nsandbox {\nnetwork = true\nmodes = true\nread = [\"/etc\"]\nwrite = [\"/var/tmp\"]\n}", `ls
in /usr
with network
may change modes, groups and times of all files of the server's user
may read /etc
may write /var/tmp
`},
		"free": {"command = [\"ls\"]\ndir = \"/usr\"\nsandbox { mode = \"none\" }", `ls
in /usr
not confined
`},
		"script": {`script = "echo ${input.s}"`, `/bin/sh -c 'SCRIPT'
in DIR
env HATCHEL_V0='it'\''s $HOME'
`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTool(c.block)
			s.HCL = `secret "k" { env = "K" }` + s.HCL
			s.Env = map[string]string{"K": "hunter2"}
			b := adaptertest.Bind(t, s)
			plan, err := b.Plan(t.Context(), `{"s":"it's $HOME","list":["a","b c"]}`)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.ReplaceAll(c.want, "DIR", b.Dir)
			if b.Action.(*action).block.Script != nil {
				want = strings.Replace(want, "SCRIPT", b.Action.(*action).block.Script.Argv()[2], 1)
			}
			if plan != want {
				t.Errorf("%s\nwant\n%s", plan, want)
			}
		})
	}
}

func TestQuote(t *testing.T) {
	for _, word := range hostileValues {
		out, err := exec.CommandContext(t.Context(), "bash", "-c", "LC_ALL=C.UTF-8; printf %s "+quote(word)+"x").Output()
		if err != nil || string(out) != word+"x" {
			t.Errorf("%.60q is quoted as %.60s, which is %.60q (%v)", word, quote(word), out, err)
		}
		if printable.Replace(quote(word), "\n\t", printable.Escape) != quote(word) {
			t.Errorf("%q reaches a terminal", quote(word))
		}
	}
}
