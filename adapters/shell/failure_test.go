package shell

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hatchel/adapters/adaptertest"
)

func TestFailureMessages(t *testing.T) {
	for name, c := range map[string]struct {
		block, want string
		code        int
	}{
		"exit code":             {`command = ["sh", "-c", "echo bad thing >&2; exit 3"]`, `sh failed with exit code 3: bad thing`, 3},
		"silent":                {`command = ["false"]`, `false failed with exit code 1`, 1},
		"said on stdout":        {`script = "echo here; exit 2"`, `the script failed with exit code 2: here`, 2},
		"merged":                {"script = \"echo a; echo b >&2; exit 2\"\nstderr = \"merge\"", `the script failed with exit code 2: a b`, 2},
		"control characters":    {`script = "printf 'a\\033[31mb\\033]0;title\\007c\\r\\n\\001d\\302\\205e\\377' >&2; exit 1"`, "the script failed with exit code 1: abc d e<0xFF>", 1},
		"killed":                {`script = "kill -9 $$"`, `the script was killed by the system or an operator (SIGKILL); it may have used too much memory`, 137},
		"signal":                {`script = "kill -SEGV $$"`, `the script was ended by the signal SIGSEGV (segmentation fault)`, 139},
		"zero is refused":       {"command = [\"true\"]\nok_codes = [1]", `true failed with exit code 0`, 0},
		"no program":            {`command = ["surely-not-installed"]`, `the program surely-not-installed, or its interpreter, was not found; it must be installed where the tools run`, 0},
		"no such file":          {`command = ["./nothing"]`, `the program ./nothing, or its interpreter, was not found; it must be installed where the tools run`, 0},
		"not executable":        {`command = ["/etc/passwd"]`, `the program /etc/passwd or the working directory is not accessible: permission denied`, 0},
		"a folder":              {`command = ["/etc"]`, `the program /etc or the working directory is not accessible: permission denied`, 0},
		"no folder":             {"command = [\"pwd\"]\ndir = \"nowhere\"", `the working directory nowhere does not exist`, 0},
		"file for a folder":     {"command = [\"pwd\"]\ndir = \"/etc/passwd\"", `the working directory /etc/passwd is not a directory`, 0},
		"first stage":           {`pipe = [["sh", "-c", "echo no >&2; exit 4"], ["cat"]]`, `sh (command 1 of 2) failed with exit code 4: no`, 4},
		"code of another stage": {`pipe = [["sh", "-c", "exit 1"], { command = ["grep", "y"], ok_codes = [0, 1] }]`, `sh (command 1 of 2) failed with exit code 1`, 1},
		"last stage":            {`pipe = [["echo", "x"], ["grep", "y"]]`, `grep (command 2 of 2) failed with exit code 1: `, 1},
		"stage not there":       {`pipe = [["yes"], ["cat"], ["surely-not-installed"]]`, `the program surely-not-installed, or its interpreter, was not found; it must be installed where the tools run`, 0},
		"env of a list":         {"command = [\"env\"]\nenv = { A = input.list }", `the variable A must be a text, but its value is a list; use jsonencode(...) to convert it`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := runFault(t, c.block, `{"s":"x/../../../etc"}`)
			if f.Message != strings.TrimSuffix(c.want, ": ") || f.Code != c.code {
				t.Errorf("code %d: %s", f.Code, f.Message)
			}
		})
	}
}

func TestFailureShowsEndOfLongOutput(t *testing.T) {
	f := runFault(t, `script = "seq 1 20000 >&2; echo 'KeyError: 7' >&2; echo ' ' >&2; exit 1"`, `{}`)
	if n := len([]rune(f.Message)); n > maxShownRunes+60 || !strings.HasPrefix(f.Message, "the script failed with exit code 1: KeyError: 7; before that: …") ||
		!strings.HasSuffix(f.Message, " 19999 20000") {
		t.Errorf("%d characters: %s", n, f.Message)
	}
	f = runFault(t, `script = "seq 1 20000 | tr '\\n' ' ' >&2; exit 1"`, `{}`)
	if n := len([]rune(f.Message)); n > maxShownRunes+60 || !strings.Contains(f.Message, ": 1 2 3 ") || !strings.HasSuffix(f.Message, "…") {
		t.Errorf("one line of %d characters: %s", n, f.Message)
	}
}

func TestFaultsContainNoSecrets(t *testing.T) {
	for _, block := range []string{
		`script = "echo \"is $A\" >&2; exit 1"`,
		`script = "echo \"$A\"; exit 1"`,
		"script = \"echo \\\"$A\\\"\"\nparse = \"json\"",
	} {
		s := newTool(block + "\nenv = { A = secret.k }")
		s.HCL = `secret "k" { env = "K" }` + s.HCL
		s.Env = map[string]string{"K": "top  secret"}
		if f := callFault(t, adaptertest.Bind(t, s), `{}`); strings.Contains(f.Message, "top") {
			t.Error(f.Message)
		}
	}
}

func TestFileWithoutInterpreter(t *testing.T) {
	b := adaptertest.Bind(t, newTool(`command = ["./program"]`))
	if err := os.WriteFile(filepath.Join(b.Dir, "program"), []byte("echo hi\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if f := callFault(t, b, `{}`); f.Message != "the file ./program is not a program of this system; a script needs a first line that names its interpreter" {
		t.Error(f.Message)
	}
	if err := os.WriteFile(filepath.Join(b.Dir, "program"), []byte("#!/bin/sh\necho hi\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := b.Do(t.Context(), `{}`); err != nil || out["stdout"] != "hi\n" {
		t.Errorf("%v, %v", out, err)
	}
}

func TestTooLongArguments(t *testing.T) {
	list := make([]string, 300)
	for i := range list {
		list[i] = strings.Repeat("x", 100_000)
	}
	f := runFault(t, `command = ["true", input.list]`, mustJSON(t, map[string]any{"list": list}))
	if f.Message != "the arguments and the environment of the command are too long; send less" {
		t.Error(f.Message)
	}
}

func TestResourceShortageIsTemporary(t *testing.T) {
	for _, lack := range []error{syscall.EAGAIN, syscall.EMFILE} {
		err := (&commandPlan{}).startFault(fmt.Errorf("pipe: %w", lack))
		if err.Error() != "the server cannot start another program now; try again later" || !errors.Is(err, lack) {
			t.Error(err)
		}
	}
}

func TestMovedProgramIsFoundAgain(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	t.Setenv("PATH", first+":relative:"+second+":"+os.Getenv("PATH"))
	place := func(dir, says string) {
		if err := os.WriteFile(filepath.Join(dir, "moving"), []byte("#!/bin/sh\necho "+says+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b := adaptertest.Bind(t, newTool(`command = ["moving"]`))
	for _, step := range []struct {
		prepare func()
		want    string
	}{
		{func() { place(first, "first") }, "first\n"},
		{func() { place(second, "second"); os.Remove(filepath.Join(first, "moving")) }, "second\n"},
	} {
		step.prepare()
		if out, err := b.Do(t.Context(), `{}`); err != nil || out["stdout"] != step.want {
			t.Errorf("%v, %v", out, err)
		}
	}
	os.Remove(filepath.Join(second, "moving"))
	if f := callFault(t, b, `{}`); !strings.Contains(f.Message, "was not found") {
		t.Error(f.Message)
	}
}
