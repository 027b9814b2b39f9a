package test_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/adapters/adaptertest"
	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/test"
)

const history = `
tool "history" {
  description = "Tests."
  shell {
    pipe  = [["git", "log", "--author=Eva", "--", "a b"], ["sort", "-r"]]
    parse = "lines"
  }
}`

func TestEachProgramOfAPipeHasAMock(t *testing.T) {
	o := call(t, history, `
mock "shell" {
  command = ["git", "log", "**"]
  reply { stdout = "a\nb\n" }
}
mock "shell" {
  command = ["sort", "-*"]
  stdin   = "a\nb\n"
  reply { stdout = "b\na\n" }
}`).mustSucceed(t)
	if got := text(t, o.output["lines"]); got != `["b","a"]` {
		t.Errorf("lines %s", got)
	}
}

func TestTheDifferenceOfAProgramIsShown(t *testing.T) {
	const config = `
tool "history" {
  description = "Tests."
  shell {
    command = ["git", "log", "-n", "${3}"]
    env     = { TZ = "UTC" }
    stdin   = "x"
  }
}`
	for mock, want := range map[string]string{
		`command = ["git", "**"]`:                             "",
		`command = ["**", "3"]`:                               "",
		"command = [\"git\", \"*\", \"-n\", 3]":               "",
		`command = ["git", "log"]`:                            `the command is ["git","log","-n","3"], and the mock has ["git","log"]`,
		"command = [\"git\", \"**\"]\nenv = { TZ = \"CET\" }": `env.TZ is "UTC", and the mock has "CET"`,
		"command = [\"git\", \"**\"]\nstdin = \"y\"":          `stdin is "x", and the mock has "y"`,
		"command = [\"git\", \"**\"]\nenv = { A = \"b\" }":    `env.A is absent, and the mock has "b"`,
	} {
		o := call(t, config, "mock \"shell\" {\n"+mock+"\n}\n")
		switch {
		case want == "" && (o.err != nil || len(o.problems) > 0):
			t.Errorf("%s: error %v, problems %+v", mock, o.err, o.problems)
		case want != "" && (len(o.problems) == 0 || !strings.Contains(o.problems[0].Detail, want)):
			t.Errorf("%s: problems %+v", mock, o.problems)
		}
	}
}

func TestAFileIsWrittenInACopyOfItsDirectory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	for name, content := range map[string]string{"notes/a.txt": "one", "notes/old/b.txt": "two", "other/c.txt": "three"} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := test.NewMocks(test.Setup{Kinds: kinds, Dir: dir})
	write := adaptertest.Bind(t, adaptertest.Source{Set: all.Set(), Dir: dir, Mocks: m, HCL: `
tool "write" {
  description = "Tests."
  file {
    directory = "notes/old"
    write     = "b.txt"
    content   = "changed"
    if_exists = "replace"
  }
}`})
	if _, err := write.Do(t.Context(), `{}`); err != nil {
		t.Fatal(err)
	}
	read := adaptertest.Bind(t, adaptertest.Source{Set: all.Set(), Dir: dir, Mocks: m, HCL: `
tool "read" {
  description = "Tests."
  input "name" { type = string }
  file {
    directory = "notes"
    read      = "${input.name}"
  }
}`})
	for name, want := range map[string]string{"a.txt": "one", "old/b.txt": "changed"} {
		out, err := read.Do(t.Context(), `{"name": "`+name+`"}`)
		if err != nil || !strings.Contains(text(t, out["content"]), want) {
			t.Errorf("%s: %v, error %v", name, out, err)
		}
	}
	if content, _ := os.ReadFile(filepath.Join(dir, "notes/old/b.txt")); string(content) != "two" {
		t.Errorf("the file of the directory is %q", content)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "hatchel-test-*")); len(left) > 0 {
		t.Errorf("copies are left: %v", left)
	}
}

func TestALargeDirectoryIsNotCopied(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "large"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(64<<20 + 1); err != nil {
		t.Fatal(err)
	}
	f.Close()
	m := test.NewMocks(test.Setup{Kinds: kinds, Dir: dir})
	defer m.Close()
	if _, err := m.CopyDirectory(dir); err == nil || len(m.Problems()) != 1 ||
		!strings.Contains(m.Problems()[0].Detail, "more than 64 MiB together") {
		t.Errorf("error %v, problems %+v", err, m.Problems())
	}
}
