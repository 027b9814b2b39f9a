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

// asNobody runs the file operations of this goroutine as a user without privileges until the test ends,
// because nothing is denied to the superuser.
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

func TestDeniedPermissionIsReported(t *testing.T) {
	dir, out := newOut(t)
	mine := filepath.Join(out, "mine.csv")
	writeFile(t, mine, "date,amount,vendor\r\n")
	if err := os.Chmod(mine, 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(out, 0o555); err != nil {
		t.Fatal(err)
	}
	create := adaptertest.Bind(t, source(dir, invoices, ""))
	appendTo := adaptertest.Bind(t, source(dir, invoices, `if_exists = "append"`))
	asNobody(t)
	wantFault(t, create, `{"filename": "a", `+twoRows+`}`, "permission denied on "+filepath.Join(out, "a.csv"))
	wantFault(t, appendTo, `{"filename": "mine", `+twoRows+`}`, "permission denied on "+mine)
}

func TestUnreadableDirectoryIsReported(t *testing.T) {
	dir, out := newOut(t)
	if err := os.Chmod(out, 0); err != nil {
		t.Fatal(err)
	}
	b := adaptertest.Bind(t, source(dir, invoices, ""))
	asNobody(t)
	wantFault(t, b, `{"filename": "a", `+twoRows+`}`, "permission denied on "+filepath.Join(out, "a.csv"))
}

// fileLimitEnv is set in the child process that cannot write large files.
const fileLimitEnv = "HATCHEL_TEST_FILE_LIMIT"

func TestFullDiskLeavesNoIncompleteFile(t *testing.T) {
	if os.Getenv(fileLimitEnv) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), fileLimitEnv+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	dir, out := newOut(t)
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(unix.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 8 << 10, Max: 8 << 10}); err != nil {
		t.Fatal(err)
	}
	many := `"rows": [` + strings.TrimSuffix(strings.Repeat(`{"vendor": "Acme", "date": "2026-01-02", "amount": 10.50},`, 1000), ",") + `]`
	for _, mode := range []string{"fail", "replace", "append"} {
		b := adaptertest.Bind(t, source(dir, invoices, `if_exists = "`+mode+`"`))
		path := filepath.Join(out, mode+".csv")
		wantFault(t, b, `{"filename": "`+mode+`", `+many+`}`, "no space left on "+path)
		wantFiles(t, out, 0)
	}
	b := adaptertest.Bind(t, source(dir, invoices, `if_exists = "append"`))
	mustCall(t, b, `{"filename": "a", `+twoRows+`}`)
	before := readFile(t, filepath.Join(out, "a.csv"))
	mustFail(t, b, `{"filename": "a", `+many+`}`)
	wantContent(t, filepath.Join(out, "a.csv"), before)
}
