package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// attrScript returns a script that makes a call of attrCalls or attrDetours on a file, and writes "done" or the error.
func attrScript(file, call string) string {
	return fmt.Sprintf(`cd "$TMPDIR" && perl -e '$f = "%s"; $e = ""; $g = $) + 0; $t = pack("q4", 1, 0, 1, 0); open(F, "<", $f) or die; ($d = $f) =~ s,/[^/]*$,,; opendir(D, $d) or die; $r = %s; print $r == -1 ? "$!" : "done"'`, file, call)
}

func TestConfinedAttrCallsChangeWritableFiles(t *testing.T) {
	if runtime.GOARCH != "amd64" { // whose numbers these are
		return
	}
	for call, text := range attrCalls {
		name, _ := newOwnedFile(t)
		got := runScript(t, attrScript(name, text), fmt.Sprintf("sandbox { write = [%q] }", filepath.Dir(name)))
		now, err := os.Stat(name)
		if err != nil || got != "done" {
			t.Fatalf("%s: %q, %v", call, got, err)
		}
		mode, changed := now.Mode().Perm(), now.ModTime()
		switch {
		case strings.Contains(text, "0666"):
			if mode != 0o666 {
				t.Errorf("%s: %v", call, mode)
			}
		case strings.Contains(text, "$t"):
			if changed.Unix() > 1 {
				t.Errorf("%s: %v", call, changed)
			}
		case strings.Contains(call, "now"):
			if time.Since(changed) > time.Hour {
				t.Errorf("%s: %v", call, changed)
			}
		}
	}
}

// attrDetours are further ways to name a file that may only be read. $f is its name, F the open file, and D its open
// directory.
var attrDetours = []string{
	`chmod(0666, "/proc/self/fd/" . fileno(F)) || -1`,
	`chmod(0666, "/proc/self/fd/../fd/" . fileno(F)) || -1`,
	`chmod(0666, "/proc/$$/fd/" . fileno(F)) || -1`,
	`chmod(0666, "/proc/thread-self/fd/" . fileno(F)) || -1`,
	`chmod(0666, "/dev/fd/" . fileno(F)) || -1`,
	`chmod(0666, "/proc/self/root$f") || -1`,
	`chmod(0666, "/proc/$$/root$f") || -1`,
	`chmod(0666, "/proc/self/fd/" . fileno(D) . "/x") || -1`,
	`chdir($d) && chmod(0666, "/proc/self/cwd/x") || -1`,
	`chdir($d) && chmod(0666, "x") || -1`,
	`chdir($d) && chmod(0666, "./../" . ($d =~ s,.*/,,r) . "/x") || -1`,
	`symlink($f, "l") && chmod(0666, "l") || -1`,
	`symlink($d, "l") && chmod(0666, "l/x") || -1`,
	`symlink("/proc/self/fd/" . fileno(F), "l") && chmod(0666, "l") || -1`,
	`symlink("/proc/self/fd/" . fileno(D), "l") && chmod(0666, "l/x") || -1`,
	`syscall(268, fileno(D), "x$e", 0666)`,
	`syscall(268, fileno(D), "./x$e", 0666)`,
	`syscall(268, fileno(F), $f, 0666)`,
	`opendir(O, ".") && syscall(268, fileno(O), ("../" x 40) . $f, 0666)`,
	`do { $p = syscall(257, -100, $f, 0x200000, 0); syscall(452, $p, $e, 0666, 0x1000) }`,
	`do { $p = syscall(257, -100, $f, 0x200000, 0); syscall(260, $p, $e, -1, $g, 0x1000) }`,
	`do { $p = syscall(257, -100, $f, 0x200000, 0); chmod(0666, "/proc/self/fd/$p") || -1 }`,
	`open(STDIN, "<", $f) && chmod(0666, "/dev/fd/0") || -1`,
	`syscall(91, fileno(D), 0777)`,
	`chmod(0777, $d) || -1`,
	`utime(1, 1, "/proc/self/fd/" . fileno(F)) || -1`,
	`chmod(0666, "/dev/null") || -1`,
	`open(N, ">", "/dev/null") && syscall(91, fileno(N), 0666)`,
	`chmod(0755, "/proc/self/fd") || -1`,
	`chmod(0755, "/usr/bin/true") || -1`,
	`open(N, ">", "gone") && unlink("gone") && syscall(91, fileno(N), 0666)`,
	`open(N, ">", "gone") && open(M, ">", "gone (deleted)") && unlink("gone") && syscall(91, fileno(N), 0666)`,
}

func TestConfinedAttrCallsChangeNoReadableFile(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		return
	}
	name, before := newOwnedFile(t)
	folder, err := os.Stat(filepath.Dir(name))
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range attrDetours {
		got := runScript(t, attrScript(name, call), fmt.Sprintf("sandbox { read = [%q] }", filepath.Dir(name)))
		if got != "Operation not permitted" && got != "Too many levels of symbolic links" && got != "Permission denied" {
			t.Errorf("%s: %q", call, got)
		}
		for path, was := range map[string]os.FileInfo{name: before, filepath.Dir(name): folder} {
			if now, err := os.Stat(path); err != nil || now.Mode() != was.Mode() || !now.ModTime().Equal(was.ModTime()) {
				t.Fatalf("%s has changed %v, %v", call, now, err)
			}
		}
	}
}

func TestConfinedAttrErrorsAreThoseOfTheKernel(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		return
	}
	for _, call := range []string{
		`syscall(90, "missing$e", 0600)`, `syscall(90, "x/y$e", 0600)`, `syscall(90, $e, 0600)`, `syscall(90, 0, 0600)`, `syscall(90, 8, 0600)`, `syscall(90, "n$e" x 5000, 0600)`, `syscall(90, "n$e" x 300, 0600)`,
		`do { symlink("l", "l"); syscall(90, "l$e", 0600) }`, `syscall(91, 77, 0600)`, `syscall(91, -100, 0600)`, `syscall(268, 77, "x$e", 0600)`, `syscall(268, fileno(F), "x$e", 0600)`,
		`syscall(452, -100, "x$e", 0600, 0x40)`, `syscall(452, -100, $e, 0700, 0x1000)`, `syscall(452, -100, $e, 0600, 0)`, `do { symlink("x", "l"); syscall(452, -100, "l$e", 0600, 0x100) }`,
		`syscall(260, -100, "x$e", -1, -1, 0x8000)`, `syscall(92, "x$e", -1, -1)`, `do { symlink("x", "l"); syscall(94, "l$e", $< + 0, $g) }`, `syscall(260, fileno(F), $e, -1, $g, 0x1000)`,
		`do { $b = pack("q4", 1, 1000000, 1, 0); syscall(235, "x$e", $b) }`, `do { $b = pack("q4", 1, -1, 1, 0); syscall(235, "x$e", $b) }`, `do { $b = pack("q4", 1, 1000000000, 1, 0); syscall(280, -100, "x$e", $b, 0) }`,
		`do { $b = pack("q4", 1, 0x3ffffffe, 1, 0x3ffffffe); syscall(280, -100, "x$e", $b, 0) }`, `do { $b = pack("q4", 1, 0x3fffffff, 7, 0x3ffffffe); syscall(280, -100, "x$e", $b, 0) }`, `syscall(280, -100, "x$e", $t, 0x4)`, `syscall(280, -100, "x$e", 8, 0x4)`,
		`syscall(280, -100, "x$e", 8, 0)`, `do { symlink("gone", "l"); syscall(280, -100, "l$e", $t, 0x100) }`, `do { symlink("gone", "l"); syscall(280, -100, "l$e", $t, 0) }`, `syscall(132, "x$e", $t)`,
		`syscall(280, fileno(F), 0, $t, 0x1000)`, `syscall(280, fileno(F), 0, $t, 0x100)`, `syscall(280, -100, 0, $t, 0)`, `syscall(280, 77, 0, $t, 0)`, `syscall(261, -100, 0, $t)`, `syscall(280, fileno(F), 0, $t, 1 << 32)`,
		`syscall(90, "/proc/self/fd/+" . fileno(F), 0640)`, `syscall(90, "/proc/self/fd/0" . fileno(F), 0640)`, `syscall(90, "/proc/self/fd/" . fileno(F), 0640)`, `syscall(90, -1, 0640)`, `syscall(91, fileno(F) + (1 << 32), 0640)`,
		`syscall(91, 1 << 31, 0640)`, `syscall(268, 77, "$ENV{TMPDIR}/w/x$e", 0640)`, `syscall(268, -100, "x/$e", 0640)`,
		`mkdir("d") && chmod(0, "d") && chmod(0700, "d") || -1`, `chmod(0, "x") && chmod(0640, "x") || -1`, `chmod(0777, ".") && chmod(0700, ".") || -1`,
	} {
		script := "cd \"$TMPDIR\" && mkdir w && cd w && echo > x && perl -e '" + `$e = ""; $g = $) + 0; $t = pack("q4", 1, 0, 1, 0); open(F, "<", "x") or die; $r = ` + call + `; print $r == -1 ? "$!" : "done"` + "'; echo; stat -c '%a %F' x l 2>/dev/null; stat -c %X-%Y x | sed 's/[0-9]\\{6,\\}/now/g'; cd ..; rm -r w"
		t.Setenv("TMPDIR", t.TempDir())
		free, got := runScript(t, script, "sandbox { mode = \"none\" }"), runScript(t, script, "")
		if strings.HasPrefix(free, "Function not implemented") {
			continue // by this kernel; the server does it
		}
		if got != free || strings.Contains(free, " at -e line") {
			t.Errorf("%s: %q, and without %q", call, got, free)
		}
	}
}
