package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/adapters/adaptertest"
)

// TestConfinedReplacedPathsLeadNowhereElse: a path of a sandbox block can be below a directory that programs write to. What
// they put in its place must not become accessible.
func TestConfinedReplacedPathsLeadNowhereElse(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "file"), []byte("outside\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]string{"read": "read = [%[1]q]\nwrite = [%[2]q]", "write": "write = [%[2]q, %[1]q]", "dir": "write = [%[2]q] # beside %[1]q"} {
		t.Run(name, func(t *testing.T) {
			writable := t.TempDir()
			inner := filepath.Join(writable, "a", "inner")
			if err := os.MkdirAll(inner, 0o755); err != nil {
				t.Fatal(err)
			}
			script := fmt.Sprintf("cat %[1]s/file %[2]s/file 2>&1; rm -rf %[1]s; ln -sfn %[2]s %[1]s; touch $TMPDIR/x", inner, outside) // a call that leaves something has a cell of its own
			block := fmt.Sprintf("script = %q\nsandbox {\n%s\n}", script, fmt.Sprintf(at, inner, writable))
			if name == "dir" {
				block += fmt.Sprintf("\ndir = %q", inner)
			}
			b := adaptertest.Bind(t, newTool(block))
			for call := range 3 {
				out, err := b.Do(t.Context(), `{}`)
				if call == 0 && err != nil {
					t.Fatal(err)
				}
				if err == nil && strings.Contains(out["stdout"].(string), "outside\n") {
					t.Fatalf("%v", out)
				}
			}
		})
	}
}

func TestConfinedLinksInWritableDirsAreRejected(t *testing.T) {
	outside, writable := t.TempDir(), t.TempDir()
	link := filepath.Join(writable, "link")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	for _, named := range []string{link, link + "/."} {
		if got := adaptertest.MustReject(t, newTool(fmt.Sprintf("command = [\"ls\"]\nsandbox {\nread = [%q]\nwrite = [%q]\n}", named, writable))); !strings.Contains(got, "is below \""+writable+"\", which programs may write to, and there is a symbolic link on the way") {
			t.Error(got)
		}
	}
	if out := mustRun(t, fmt.Sprintf("command = [\"ls\", \"-d\", %q]\nsandbox { read = [%q] }", link, link), `{}`); out["code"] != 0 {
		t.Errorf("where nobody may write: %v", out)
	}
}
