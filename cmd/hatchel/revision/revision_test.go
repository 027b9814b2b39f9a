package revision

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// newRepository returns a repository with one commit of these files.
func newRepository(t testing.TB, files map[string]string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing")
	}
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{"init -q -b main", "add .", "-c user.name=a -c user.email=a@example.org commit -q -m one",
		"update-ref refs/heads/-x main", "update-ref refs/heads/--upload-pack=touch main"} {
		cmd := exec.Command("git", append([]string{"-C", dir}, strings.Fields(args)...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %s", args, out)
		}
	}
	return dir
}

func TestNoNameBecomesAnOptionOfGit(t *testing.T) {
	dir := newRepository(t, map[string]string{"a.hcl": "# a\n"})
	for name, isRevision := range map[string]bool{
		"main": true, "refs/heads/-x": true, "heads/--upload-pack=touch": true, "main:": true, "main:a.hcl": true,
		"-x": false, "--upload-pack=touch x": false, "--output=x": false, "--help": false, ":": false, "": false, ":a.hcl": false,
		"^main": false, "main..main": false, "main:-x": false, "main:../..": false, "main\nmain": false, "main^{tree}": false,
	} {
		tree, file, err := Open(t.Context(), dir, name)
		if isRevision != (err == nil) || isRevision && tree == nil && file == nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 2 { // a.hcl and .git
		t.Errorf("the directory has %q", names)
	}
}

// A revision of 1,000 files is read in at most a second.
func BenchmarkOpen1000Files(b *testing.B) {
	files := map[string]string{}
	for i := range 1000 {
		files[fmt.Sprintf("t%d.hcl", i)] = strings.Repeat(fmt.Sprintf("# a line of the file %d\n", i), 40)
	}
	dir := newRepository(b, files)
	for b.Loop() {
		if _, _, err := Open(b.Context(), dir, "main"); err != nil {
			b.Fatal(err)
		}
	}
}
