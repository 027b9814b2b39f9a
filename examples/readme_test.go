package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// blocks are the fenced blocks of a language in the README; "" are those without one.
func blocks(t *testing.T, language string) (found []string) {
	t.Helper()
	src, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split("\n"+string(src), "\n```") {
		if first, text, ok := strings.Cut(part, "\n"); ok && i%2 == 1 && first == language {
			found = append(found, text)
		}
	}
	return found
}

// flush is a text without the blanks around its lines.
func flush(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimSpace(line) + "\n")
	}
	return strings.TrimSpace(out.String())
}

func TestEveryToolOfTheReadmeIsCutFromAnExample(t *testing.T) {
	files, err := filepath.Glob("*/*.hcl")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, flush(string(src)))
	}
	tools := blocks(t, "hcl")
	if len(tools) == 0 {
		t.Error("the README shows no tool")
	}
	for _, tool := range tools {
		if !strings.Contains(strings.Join(all, "\n\n"), flush(tool)) {
			t.Errorf("no example holds\n%s", tool)
		}
	}
}

// checkout is a folder with the examples in it that the README's commands name.
func checkout(t *testing.T) *folder {
	t.Helper()
	root := t.TempDir()
	for _, name := range []string{"invoices", "desk"} {
		f := example(t, name)
		f.must(os.MkdirAll(filepath.Join(root, "examples"), 0o755))
		f.must(os.Rename(f.path, filepath.Join(root, "examples", name)))
	}
	return &folder{t: t, path: root}
}

func TestCommandsOfTheReadmePrintWhatItShows(t *testing.T) {
	t.Parallel()
	f := checkout(t)
	shown := blocks(t, "console")
	if len(shown) == 0 {
		t.Error("the README shows no command")
	}
	for _, block := range shown {
		for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
			line, want, _ := strings.Cut(part, "\n")
			cmd := exec.Command("/bin/sh", "-c", line)
			cmd.Dir, cmd.Env = f.path, append(f.command().Env, "PATH="+filepath.Dir(hatchel)+":"+os.Getenv("PATH"))
			got, err := cmd.CombinedOutput()
			if err != nil || flush(string(got)) != flush(want) {
				t.Errorf("$ %s\n%v\n%s\nand the README shows\n%s", line, err, got, want)
			}
		}
	}
}

func TestBrokenEditOfTheReadmePrintsWhatItShows(t *testing.T) {
	t.Parallel()
	f := checkout(t)
	s := f.start(f.command("serve", "examples/invoices", "--listen", "127.0.0.1:0", "--watch=false"))
	name := "examples/invoices/invoices.hcl"
	f.write(name, strings.Replace(f.read(name), "${input.from} AND ${input.to}", "${input.from} AND ${input.too}", 1))
	s.reload()
	for _, block := range blocks(t, "") {
		if strings.Contains(block, "error: ") {
			s.prints(block)
			return
		}
	}
	t.Error("the README shows no mistake")
}
