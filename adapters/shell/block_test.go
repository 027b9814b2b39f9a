package shell

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hatchel/adapters/adaptertest"
)

func envLines(t *testing.T, out map[string]any) []string {
	t.Helper()
	list := strings.Split(strings.TrimSuffix(out["stdout"].(string), "\n"), "\n")
	for i, v := range list { // of every call its own
		if at := strings.Index(v, os.TempDir()+"/hatchel-"); at >= 0 {
			list[i] = v[:at] + "temporary"
		}
	}
	slices.Sort(list)
	return list
}

func TestEnvironment(t *testing.T) {
	t.Setenv("PATH", "/usr/bin:/bin")
	t.Setenv("HOME", "/home/x")
	t.Setenv("PASSED", "a=b")
	t.Setenv("SECRET", "s")
	t.Setenv("TMPDIR", "/var/tmp")
	basis := []string{"HOME=temporary", "LANG=C.UTF-8", "PATH=/usr/bin:/bin", "TMPDIR=temporary"}
	for name, c := range map[string]struct {
		block string
		want  []string
	}{
		"nothing said": {``, basis},
		"inherited":    {`inherit_env = ["PASSED", "NOT_THERE"]`, append([]string{"PASSED=a=b"}, basis...)},
		"HOME kept":    {`inherit_env = ["HOME"]`, []string{"HOME=/home/x", "LANG=C.UTF-8", "PATH=/usr/bin:/bin", "TMPDIR=temporary"}},
		"HOME set":     {`env = { HOME = "/x", TMPDIR = "/y" }`, []string{"HOME=/x", "LANG=C.UTF-8", "PATH=/usr/bin:/bin", "TMPDIR=/y"}},
		"not confined": {`sandbox { mode = "none" }`, []string{"HOME=/home/x", "LANG=C.UTF-8", "PATH=/usr/bin:/bin", "TMPDIR=/var/tmp"}},
		"given":        {"env = { B = input.n, C = input.t, A = \"x y\" }", append([]string{"A=x y", "B=0"}, basis...)},
		"overridden":   {"env = { PASSED = \"c\", LANG = \"C\" }\ninherit_env = [\"PASSED\"]", []string{"HOME=temporary", "LANG=C", "PASSED=c", "PATH=/usr/bin:/bin", "TMPDIR=temporary"}},
	} {
		t.Run(name, func(t *testing.T) {
			slices.Sort(c.want)
			if got := envLines(t, mustRun(t, "command = [\"env\"]\n"+c.block, `{}`)); !slices.Equal(got, c.want) {
				t.Errorf("%q", got)
			}
		})
	}
}

// The real git reads ~/.gitconfig, and fails if it may not.
func TestGitWorksBesideTheConfigurationOfTheServersUser(t *testing.T) {
	home, repository := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = server\n\temail = s@example.com\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	for _, args := range [][]string{{"init", "-q"}, {"commit", "-q", "--allow-empty", "-m", "first"}} {
		if out, err := exec.Command("git", append([]string{"-C", repository}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for name, c := range map[string]struct{ args, inherit, sandbox, want string }{
		"by default":              {`"log", "--format=%s"`, "", fmt.Sprintf("read = [%q]", repository), "first\n"},
		"without its settings":    {`"config", "user.name"`, "", fmt.Sprintf("read = [%q]", repository), ""},
		"with its HOME":           {`"config", "user.name"`, `inherit_env = ["HOME"]`, fmt.Sprintf("read = [%q, %q]", repository, home), "server\n"},
		"with its HOME, unread":   {`"log"`, `inherit_env = ["HOME"]`, fmt.Sprintf("read = [%q]", repository), "fatal: unknown error occurred while reading the configuration files\n"},
		"without being confined":  {`"config", "user.name"`, "", `mode = "none"`, "server\n"},
		"with settings of a call": {`"-c", "user.name=call", "config", "user.name"`, "", fmt.Sprintf("read = [%q]", repository), "call\n"},
	} {
		t.Run(name, func(t *testing.T) {
			out := mustRun(t, fmt.Sprintf("dir = %q\ncommand = [\"git\", %s]\nok_codes = [0, 1, 128]\nstderr = \"merge\"\n%s\nsandbox { %s }", repository, c.args, c.inherit, c.sandbox), `{}`)
			if got := out["stdout"].(string); !strings.HasSuffix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestProgramLookupUsesPATHOfProgram(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ls"), []byte("#!/bin/sh\necho mine\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := adaptertest.Bind(t, newToolWithConnection(`connection "shell" "c" {
  env = { PATH = "`+dir+`" }
}`, `"c"`, `command = ["ls"]`)).Do(t.Context(), `{}`)
	if err != nil || out["stdout"] != "mine\n" {
		t.Errorf("%v, %v", out, err)
	}
}

func TestCodeLoadingVariablesAreRejected(t *testing.T) {
	for _, name := range []string{"PATH", "LD_PRELOAD", "BASH_ENV", "GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "DYLD_INSERT_LIBRARIES"} {
		if got := adaptertest.MustReject(t, newTool("command = [\"ls\"]\nenv = { "+name+" = input.s }")); !strings.Contains(got, "decides which code runs") {
			t.Error(got)
		}
	}
}

func TestWorkingDirectory(t *testing.T) {
	b := adaptertest.Bind(t, newTool("command = [\"pwd\", \"-P\"]\ndir = input.t == null ? \".\" : under(\"a\", input.t)"))
	root, err := filepath.EvalSymlinks(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]string{`{}`: root, `{"t":"b"}`: root + "/a/b", `{"t":"x/.."}`: root + "/a"} {
		if out, err := b.Do(t.Context(), arguments); err != nil || out["stdout"] != want+"\n" {
			t.Errorf("%s: %v, %v", arguments, out, err)
		}
	}
}

const sharedConnection = `connection "shell" "c" {
  command  = ["sh", "-c", "echo \"$A $B $*\"; pwd; exit 3", "sh"]
  env      = { A = "conn", B = "conn" }
  dir      = "/usr"
  ok_codes = [3]
  timeout  = "20s"
}
`

func TestBlockInheritsFromConnection(t *testing.T) {
	for block, want := range map[string]string{
		`command = ["x", input.list]`:                                    "conn conn x 1 2\n/usr\n",
		"command = [input.n]\nenv = { B = \"block\" }\ndir = \"/\"":      "conn block 0\n/\n",
		"command = [\"x\"]\nok_codes = [3]\ninherit_env = [\"NOTHING\"]": "conn conn x\n/usr\n",
		"pipe = [[\"x\"], [\"tr\", \"x\", \"y\"]]":                       "conn conn y\n/usr\n",
	} {
		out, err := adaptertest.Bind(t, newToolWithConnection(sharedConnection, `"c"`, block)).Do(t.Context(), `{"list":["1","2"]}`)
		if err != nil || out["stdout"] != want {
			t.Errorf("%s: %v, %v", block, out, err)
		}
	}
	if f := callFault(t, adaptertest.Bind(t, newToolWithConnection(sharedConnection, `"c"`, "command = [\"x\"]\nok_codes = [0]")), `{}`); f.Code != 3 {
		t.Error(f)
	}
}

func TestOptionsOfTheAuthorAreChosenByACall(t *testing.T) {
	out := mustRun(t, `command = ["sh", "-c", "echo \"$@\"", "sh", { a = "-x" }[input.s], ["-y", "-z"][input.n], "-${input.n == 0 ? "p" : "q"}", input.n == 0 ? "-c" : input.t]`,
		`{"s": "a", "n": 0}`)
	if out["stdout"] != "-x -y -p -c\n" {
		t.Error(out)
	}
}

func TestFileNamesStayInTheirDirectory(t *testing.T) {
	const block = `command = ["echo", "./${filename(input.s)}"]`
	if out := mustRun(t, block, `{"s": "a b..txt"}`); out["stdout"] != "./a b..txt\n" {
		t.Error(out)
	}
	for _, name := range []string{"", ".", "..", ".hidden", "/a", "a/b", `a\b`} {
		arguments, _ := json.Marshal(map[string]string{"s": name})
		if f := runFault(t, block, string(arguments)); !strings.Contains(f.Message, "input.s must be the name of a file") {
			t.Errorf("%q: %s", name, f.Message)
		}
	}
}

func TestUnderReachesNoFileOfTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(dir, "all")); err != nil {
		t.Fatal(err)
	}
	s := newTool(`command = ["cat", under("all", input.s)]`)
	s.Dir = dir
	if f := callFault(t, adaptertest.Bind(t, s), `{"s": "main.hcl"}`); !strings.Contains(f.Message, "contains the configuration") {
		t.Error(f)
	}
	for _, folder := range []string{".", "/", dir, filepath.Dir(dir)} {
		s := newTool(`command = ["cat", under("` + folder + `", input.s)]`)
		s.Dir = dir
		if got := adaptertest.MustReject(t, s); !strings.Contains(got, "contains the configuration") {
			t.Error(got)
		}
	}
}

func TestScriptFiles(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"plain.sh": "echo plain $A $#", "sub/bash": "#!/bin/bash -e\nfalse || [[ $A == a ]] && echo bash", "env": "#!/usr/bin/env bash\necho ${BASH_VERSION:+env}", "empty": "",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "x"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "x"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	in := func(file string) adaptertest.Source {
		s := newTool("script_file = \"" + file + "\"\nenv = { A = \"a\" }\ndir = \"/\"")
		s.Dir = dir
		return s
	}
	for file, want := range map[string]string{"plain.sh": "plain a 0\n", "sub/bash": "bash\n", "env": "env\n", "empty": ""} {
		if out, err := adaptertest.Bind(t, in(file)).Do(t.Context(), `{}`); err != nil || out["stdout"] != want {
			t.Errorf("%s: %v, %v", file, out, err)
		}
	}
	for file, want := range map[string]string{
		"missing": `has no file "missing"`, "../x": "must not leave it", "/etc/passwd": "must be relative", "link": "cannot be opened within the configuration directory", "sub": `"sub" is not a regular file`,
	} {
		if got := adaptertest.MustReject(t, in(file)); !strings.Contains(got, want) || !strings.HasPrefix(got, "main.hcl:10:15") {
			t.Errorf("%s: %s", file, got)
		}
	}
}

func TestBlockMistakes(t *testing.T) {
	for block, want := range map[string]string{
		"command = [\"ls\"]\nparse = \"xml\"":                       `parse is "text", "json", "jsonl", "lines" or "bytes", not "xml".`,
		"command = [\"ls\"]\nstderr = \"drop\"":                     `stderr must be "merge" or omitted, not "drop".`,
		"command = [\"ls\"]\nok_codes = [0, 256]":                   `An exit code must be from 0 to 255, not 256.`,
		"command = [\"ls\"]\ninherit_env = [\"A=b\"]":               `"A=b" is not a variable name. inherit_env lists names`,
		"command = [\"ls\"]\nenv = { \"A=B\" = \"x\" }":             `"A=B" is not a variable name`,
		"command = [\"ls\"]\nenv = { (input.s) = \"x\" }":           `cannot depend on a call`,
		"command = [\"ls\"]\nscript = \"ls\"":                       `What to run is already given by "command"`,
		`dir = "/"`:                                                 `What to run is required: write one of command, pipe, script, script_file.`,
		"command = [\"ls\", secret.k]":                              `secret`,
		`script = "eval ${input.s}"`:                                `eval`,
		"command = [\"sh\", \"-c\", input.s]":                       `sh`,
		"command = [\"sh\"]\nstdin = input.s":                       `sh runs its standard input as code`,
		"command = [\"env\", \"bash\", \"-s\"]\nstdin = input.s":    `bash runs its standard input as code`,
		"pipe = [[\"python3\", \"-\"], [\"cat\"]]\nstdin = input.s": `python3 runs its standard input as code`,
		"pipe = [[\"ls\"], [\"cat\"]]\nok_codes = [0, 1]":           `ok_codes belongs to a stage of a pipe`,
		"script = \"eval $V\"\nenv = { V = input.s }":               `eval`,
	} {
		if got := adaptertest.MustReject(t, newTool(block)); !strings.Contains(got, want) {
			t.Errorf("%s:\n%s", block, got)
		}
	}
	for _, block := range []string{`script = "ls"`, `script_file = "x"`} {
		if got := adaptertest.MustReject(t, newToolWithConnection(sharedConnection, `"c"`, block)); !strings.Contains(got, `The connection "c" begins a command`) {
			t.Errorf("%s:\n%s", block, got)
		}
	}
	if got := adaptertest.MustReject(t, newToolWithConnection(`connection "shell" "c" { command = ["", "x"] }`, `"c"`, `command = ["x"]`)); !strings.Contains(got, "must not be empty") {
		t.Error(got)
	}
}
