//go:build linux

package csv_test

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"hatchel/adapters/adaptertest"
)

// asNobody makes this goroutine's file operations those of a user without rights of its own, until the test ends: the superuser would be denied nothing.
func asNobody(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	runtime.LockOSThread()
	const nobody = 65534
	if _, err := unix.SetfsuidRetUid(nobody); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := unix.SetfsuidRetUid(0); err != nil {
			t.Error(err)
		}
		runtime.UnlockOSThread()
	})
}

func TestDeniedPermissionIsSaid(t *testing.T) {
	dir, out := folder(t)
	mine := filepath.Join(out, "mine.csv")
	write(t, mine, "date,amount,vendor\r\n")
	if err := os.Chmod(mine, 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(out, 0o555); err != nil {
		t.Fatal(err)
	}
	fresh := adaptertest.Bind(t, saver(dir, invoices, ""))
	appended := adaptertest.Bind(t, saver(dir, invoices, `if_exists = "append"`))
	asNobody(t)
	if said := refused(t, fresh, `{"filename": "a", `+two+`}`); said != "permission denied on "+filepath.Join(out, "a.csv") {
		t.Error(said)
	}
	if said := refused(t, appended, `{"filename": "mine", `+two+`}`); said != "permission denied on "+mine {
		t.Error(said)
	}
}

func TestUnreadableFolderIsSaid(t *testing.T) {
	dir, out := folder(t)
	if err := os.Chmod(out, 0); err != nil {
		t.Fatal(err)
	}
	b := adaptertest.Bind(t, saver(dir, invoices, ""))
	asNobody(t)
	if said := refused(t, b, `{"filename": "a", `+two+`}`); said != "permission denied on "+filepath.Join(out, "a.csv") {
		t.Error(said)
	}
}

// limited is set in the process that may not write large files.
const limited = "HATCHEL_TEST_FILE_LIMIT"

func TestFullDiskLeavesNothingHalfWritten(t *testing.T) {
	if os.Getenv(limited) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), limited+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	dir, out := folder(t)
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(unix.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 8 << 10, Max: 8 << 10}); err != nil {
		t.Fatal(err)
	}
	many := `"rows": [` + strings.TrimSuffix(strings.Repeat(`{"vendor": "Acme", "date": "2026-01-02", "amount": 10.50},`, 1000), ",") + `]`
	for _, mode := range []string{"fail", "replace", "append"} {
		b := adaptertest.Bind(t, saver(dir, invoices, `if_exists = "`+mode+`"`))
		path := filepath.Join(out, mode+".csv")
		if said := refused(t, b, `{"filename": "`+mode+`", `+many+`}`); said != "no space left on "+path {
			t.Error(said)
		}
		if left, _ := os.ReadDir(out); len(left) > 0 {
			t.Errorf("%s left %v", mode, left)
		}
	}
	b := adaptertest.Bind(t, saver(dir, invoices, `if_exists = "append"`))
	if _, err := b.Do(t.Context(), `{"filename": "a", `+two+`}`); err != nil {
		t.Fatal(err)
	}
	before := content(t, filepath.Join(out, "a.csv"))
	refused(t, b, `{"filename": "a", `+many+`}`)
	if after := content(t, filepath.Join(out, "a.csv")); after != before {
		t.Errorf("it holds %d bytes more", len(after)-len(before))
	}
}
