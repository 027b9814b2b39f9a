package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestInstallReportsAProgramThatCannotBeBuilt(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../.ci/install")
	if err != nil {
		t.Fatal(err)
	}
	for ci, fails := range map[string]bool{"": false, "true": true} {
		dir := t.TempDir() // without a cache
		if err := os.Mkdir(filepath.Join(dir, ".ci"), 0o700); err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(dir, ".ci/install")
		if err := os.WriteFile(copied, script, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(copied, "linter")
		cmd.Env = append(os.Environ(), "CI="+ci, "GOPROXY=off", "GOFLAGS=-modcacherw", "GOMODCACHE="+filepath.Join(dir, "modules"))
		out, err := cmd.CombinedOutput()
		if (err != nil) != fails || !strings.Contains(string(out), "install: go could not install staticcheck") {
			t.Errorf("with CI=%s: %v\n%s", ci, err, out)
		}
	}
}
