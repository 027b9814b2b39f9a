package shell

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
)

// TestSandboxHint: the hint names the argument of the sandbox that is missing. The message for the model does not.
func TestSandboxHint(t *testing.T) {
	outside := t.TempDir() // below /tmp, of which programs may read nothing but the directory of their call
	secret := filepath.Join(outside, "data.csv")
	if err := os.WriteFile(secret, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	read := fmt.Sprintf("sandbox { read = [%q] }", secret)
	write := fmt.Sprintf("sandbox { write = [%q] }", outside)
	const network = "sandbox { network = true }"
	german := "env = { LANG = \"de_DE.UTF-8\" }\n"
	for said, c := range map[string]struct{ block, want string }{
		"sh reads":                {runsScript("read x < " + secret), read},
		"sh writes":               {runsScript("echo x > " + outside + "/new"), write},
		"cat":                     {runs("cat", secret), read},
		"ls":                      {runs("ls", outside), fmt.Sprintf("sandbox { read = [%q] }", outside)},
		"touch":                   {runs("touch", outside+"/new"), write},
		"mkdir":                   {runs("mkdir", outside+"/new"), write},
		"python reads":            {runs("/usr/bin/python3", "-c", "open('"+secret+"')"), read},
		"python writes":           {runs("/usr/bin/python3", "-c", "open('"+outside+"/new', 'w')"), write},
		"python connects":         {runs("/usr/bin/python3", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:1/')"), network},
		"node reads":              {runs("node", "-e", "require('fs').readFileSync('"+secret+"')"), read},
		"node writes":             {runs("node", "-e", "require('fs').writeFileSync('"+outside+"/new', '')"), write},
		"node connects":           {runs("node", "-e", "fetch('http://127.0.0.1:8099/').catch(e => process.exit(1))"), network},
		"perl reads":              {runs("perl", "-e", "open(F, '<', '"+secret+"') or die $!"), read},
		"perl connects":           {runs("perl", "-MSocket", "-e", "socket(S, PF_INET, SOCK_STREAM, 0) or exit 1"), network},
		"awk":                     {runs("awk", "1", secret), read},
		"curl":                    {runs("curl", "-s", "http://127.0.0.1:1/"), network},
		"psql":                    {runs("psql", "postgres://127.0.0.1:1/x"), network},
		"psql, local":             {runs("psql", "postgres:///x?host=/run/postgresql"), network},
		"git":                     {runs("git", "ls-remote", "http://127.0.0.1:1/x"), network},
		"nothing but an argument": {runs("sh", "-c", "exit 1", secret), read},
		"in German, reads":        {german + runsScript("echo 'cat: "+secret+": Keine Berechtigung' >&2; exit 1"), read},
		"in German, writes":       {german + runsScript("echo '/usr/bin/touch: kann ‚"+outside+"/new‘ nicht anlegen: Keine Berechtigung' >&2; exit 1"), write},
		"a relative path":         {runsScript("echo x > made"), "dir = \"data\" and sandbox { write = [\"data\"] }"},
		"an owner":                {runsScript("echo 'chown: Operation not permitted' >&2; exit 1"), errFileHint.Error()},
		"a module":                {runsScript("echo \"ModuleNotFoundError: No module named 'x'\" >&2; exit 1"), errFileHint.Error()},
		"home":                    {runsScript("cat $HOME/.netrc; echo 'set $HOME' >&2; exit 1"), "inherit_env = [\"HOME\"]"},
		"a program in sh":         {runsScript("surely-not-installed 1"), "the program surely-not-installed is not in the PATH of the tool, /"},
		"a program in bash":       {runs("bash", "-c", "surely-not-installed 1"), "the program surely-not-installed is not in the PATH of the tool, /"},
		"a program in German":     {german + runsScript("echo 'sh: Zeile 1: surely-not-installed: Kommando nicht gefunden.' >&2; exit 127"), "the program surely-not-installed is not in the PATH of the tool, /"},
		"a program in node":       {runs("node", "-e", "require('child_process').execFileSync('surely-not-installed')"), "the program surely-not-installed is not in the PATH of the tool, /"},
		"a program of its own":    {runs("surely-not-installed"), "the PATH of the tool is /"},
		"a host, with network":    {runsScript("echo 'Could not resolve host: x.example' >&2; exit 6") + "\nsandbox { network = true }", ""},
		"an allowed file":         {runsScript("echo 'syntax error in /etc/passwd, line 3' >&2; exit 1"), ""},
		"nothing of it":           {runsScript("echo 'no such branch' >&2; exit 1"), ""},
		"silence":                 {runs("false"), ""},
		"no sandbox":              {runsScript("echo 'Permission denied' >&2; exit 1") + "\nsandbox { mode = \"none\" }", ""},
	} {
		t.Run(said, func(t *testing.T) {
			_, err := runBlock(t, c.block, `{}`)
			var f *adapters.Fault
			if !errors.As(err, &f) {
				t.Fatal(err)
			}
			if c.want == "" && (f.Hint != "" || f.Cause != nil) || !strings.Contains(f.Hint, c.want) || strings.Contains(f.Message, "sandbox {") {
				t.Errorf("hint %q, cause %v of: %s", f.Hint, f.Cause, f.Message)
			}
		})
	}
}

func runs(words ...string) string { return "command = " + quoted(words) }

func runsScript(text string) string { return "script = " + quoted(text) }

func quoted(v any) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.Encode(v)
	return strings.ReplaceAll(out.String(), "${", "$${")
}

// A program that succeeds may have failed in part. Its error output is in no answer unless the author asks for it.
func TestErrorOutputOfASuccessIsLogged(t *testing.T) {
	for name, c := range map[string]struct{ block, want string }{
		"a denied file": {
			`script = "echo 'cat: /srv/x: Permission denied' >&2"`,
			`level=WARN msg="program succeeded with error output" stderr="cat: /srv/x: Permission denied" hint="the sandbox of`,
		},
		"anything else": {
			`script = "echo deprecated >&2"`,
			`level=DEBUG msg="program succeeded with error output" stderr=deprecated`,
		},
		"a secret": {"script = \"echo the key is $KEY >&2\"\nenv = { KEY = secret.k }", `stderr="the key is (secret)"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTool(c.block)
			s.HCL = `secret "k" { env = "K" }` + s.HCL
			s.Env = map[string]string{"K": "very-secret-value"}
			b := adaptertest.Bind(t, s)
			if _, err := b.Do(t.Context(), `{}`); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(b.Log.String(), c.want) {
				t.Errorf("logged %s", b.Log)
			}
		})
	}
}
