package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The service names the program of the packages. The test gives it the one of this checkout, which systemd-analyze looks for.
func TestTheUnitsAreValidAndHardened(t *testing.T) {
	t.Parallel()
	analyze := needs(t, "HATCHEL_TEST_SYSTEMD_ANALYZE")
	src, err := os.ReadFile("systemd/hatchel.service")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	unit, socket := filepath.Join(dir, "hatchel.service"), filepath.Join(dir, "hatchel.socket")
	text := strings.Replace(string(src), "ExecStart=/usr/bin/hatchel ", "ExecStart="+hatchel+" ", 1)
	if text == string(src) {
		t.Error("the unit does not start /usr/bin/hatchel")
	}
	if !strings.Contains(text, "\nRestartSec=5\n") {
		t.Error("systemd gives up when the first five starts fail within 10 s")
	}
	if err := os.WriteFile(unit, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if src, err = os.ReadFile("systemd/hatchel.socket"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(socket, src, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"verify", "--man=no", unit, socket},
		{"security", "--offline=yes", "--no-pager", "--threshold=20", unit}, // tenths: at most 2.0 of 10
	} {
		if out, err := exec.Command(analyze, args...).CombinedOutput(); err != nil || strings.Contains(string(out), dir) {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}
