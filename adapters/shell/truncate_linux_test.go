//go:build linux && cgo

package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// truncateCalls are ways to truncate a file without opening it for writing. $f is its name, F the file, open for reading.
func truncateCalls() map[string]string {
	open := func(flags int) string { return fmt.Sprintf("syscall(%d, -100, $f, %d, 0644)", unix.SYS_OPENAT, flags) }
	open2 := func(flags int) string {
		return fmt.Sprintf(`syscall(%d, -100, $f, ($h = pack("Q3", %d, 0, 0)), 24)`, unix.SYS_OPENAT2, flags)
	}
	const neither = unix.O_ACCMODE // an access mode that is none of the three
	ways := map[string]string{
		"truncate":                         fmt.Sprintf("syscall(%d, $f, 0)", unix.SYS_TRUNCATE),
		"truncate, through /proc":          fmt.Sprintf(`syscall(%d, ($p = "/proc/self/fd/" . fileno(F)), 0)`, unix.SYS_TRUNCATE),
		"ftruncate":                        fmt.Sprintf("syscall(%d, fileno(F), 0)", unix.SYS_FTRUNCATE),
		"fallocate":                        fmt.Sprintf("syscall(%d, fileno(F), 3, 0, 4)", unix.SYS_FALLOCATE),
		"openat, to read":                  open(unix.O_RDONLY | unix.O_TRUNC),
		"openat, to read, above 32 bits":   open(unix.O_RDONLY | unix.O_TRUNC | 1<<40),
		"openat, to write":                 open(unix.O_WRONLY | unix.O_TRUNC),
		"openat, to read and write":        open(unix.O_RDWR | unix.O_TRUNC),
		"openat, for neither":              open(neither | unix.O_TRUNC),
		"openat, to read or make":          open(unix.O_RDONLY | unix.O_TRUNC | unix.O_CREAT),
		"openat, for neither, or make":     open(neither | unix.O_TRUNC | unix.O_CREAT),
		"openat, to read the end":          open(unix.O_RDONLY | unix.O_TRUNC | unix.O_APPEND),
		"openat, through /proc":            strings.Replace(open(unix.O_RDONLY|unix.O_TRUNC), "$f", `($p = "/proc/self/fd/" . fileno(F))`, 1),
		"openat, through /proc, neither":   strings.Replace(open(neither|unix.O_TRUNC), "$f", `($p = "/proc/self/fd/" . fileno(F))`, 1),
		"openat, to write, through /proc":  strings.Replace(open(unix.O_WRONLY|unix.O_TRUNC), "$f", `($p = "/proc/self/fd/" . fileno(F))`, 1),
		"openat2, to read":                 open2(unix.O_RDONLY | unix.O_TRUNC),
		"openat2, for neither":             open2(neither | unix.O_TRUNC),
		"openat2, to write":                open2(unix.O_WRONLY | unix.O_TRUNC),
		"a copy into what is open to read": fmt.Sprintf(`(open(G, "<", "/etc/passwd") && syscall(%d, fileno(G), 0, fileno(F), 0, 4, 0))`, unix.SYS_COPY_FILE_RANGE),
	}
	if call := 2; runtime.GOARCH == "amd64" {
		for name, flags := range map[string]int{"to read": unix.O_RDONLY, "for neither": neither, "to write": unix.O_WRONLY} {
			ways["open, "+name] = fmt.Sprintf("syscall(%d, $f, %d)", call, flags|unix.O_TRUNC)
		}
		ways["creat"] = "syscall(85, $f, 0644)"
	}
	return ways
}

func TestConfinedTruncateNeedsWriteAccess(t *testing.T) {
	for name, way := range truncateCalls() {
		empty := func(file, begin, box string) {
			if err := os.WriteFile(file, []byte("whole"), 0o666); err != nil {
				t.Fatal(err)
			}
			if got := runScript(t, fmt.Sprintf(`perl -e '$f = "%s"; %s; $r = %s; print $r == -1 ? "refused" : "done"'`, file, begin, way), box); got != "refused" {
				t.Errorf("%s, %s: %q", name, box, got)
			}
			if text, err := os.ReadFile(file); err != nil || string(text) != "whole" {
				t.Errorf("%s, %s: the file has %q, %v", name, box, text, err)
			}
		}
		file := filepath.Join(t.TempDir(), "file")
		empty(file, `open(F, "<", $f) or die`, fmt.Sprintf("sandbox { read = [%q] }", file))
		if !strings.Contains(way, "(F)") { // which nobody can open who may not read it
			empty(file, "", "")
		}
	}
}

func TestConfinedTruncatesWritableFiles(t *testing.T) {
	for name, script := range map[string]string{
		"the shell":     ": > $f",
		"dd":            "dd if=/dev/null of=$f 2>/dev/null",
		"truncate":      "truncate -s 0 $f",
		"a descriptor":  `perl -e 'open(F, "+<", $ENV{f}) or die; truncate(F, 0) or die $!'`,
		"cp":            "cp /dev/null $f",
		"a write anew":  `perl -e 'open(F, ">", $ENV{f}) or die $!'`,
		"with openat":   fmt.Sprintf(`perl -e 'syscall(%d, -100, $ENV{f}, %d) > 0 or die $!'`, unix.SYS_OPENAT, unix.O_RDWR|unix.O_TRUNC),
		"a new one":     "rm $f; mktemp $f.XXXX >/dev/null; : > $f",
		"one appended":  "echo x >> $f; : > $f",
		"by its folder": "cd $(dirname $f) && : > file",
	} {
		script = `export f="$TMPDIR/file"; echo text > "$f"; ` + script + `; stat -c %s "$f"`
		if got := runScript(t, script, ""); got != "0\n" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
