package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// setIDCalls make a setuid or setgid file x.
var setIDCalls = map[string]string{
	"open":                `syscall(2, $f, 0102, 04755)`,
	"open, above 32 bits": `syscall(2, $f, 0102 + (1 << 40), 04755 + (1 << 40))`,
	"open, exclusively":   `syscall(2, $f, 0301, 02755)`,
	"openat":              `syscall(257, -100, $f, 0102, 06755)`,
	"openat, nameless":    `do { $n = syscall(257, -100, $d, 020200002, 04755); $p = "/proc/self/fd/$n"; $n < 0 ? $n : syscall(265, -100, $p, -100, $f, 0x400) }`,
	"openat2":             `do { $h = pack("Q3", 0102, 04755, 0); syscall(437, -100, $f, $h, 24) }`,
	"creat":               `syscall(85, $f, 04755)`,
	"mknod":               `syscall(133, $f, 0104755, 0)`,
	"mknodat":             `syscall(259, -100, $f, 0102755, 0)`,
	"mknod, of a fifo":    `syscall(133, $f, 0014755, 0)`,
}

func TestConfinedCreatesNoSetIDFiles(t *testing.T) {
	if runtime.GOARCH != "amd64" { // whose numbers these are
		return
	}
	for call, text := range setIDCalls {
		for _, box := range []string{"", allowModes} {
			script := fmt.Sprintf(`perl -e 'umask(0); $d = $ENV{TMPDIR}; $f = "$d/x"; $r = %s; printf "%%s %%o", $r < 0 ? "refused" : "done", (stat $f)[2] & 06000'`, text)
			if got := runScript(t, script, box); got != "refused 0" {
				t.Errorf("%s, %s: %q", call, box, got)
			}
		}
	}
	ordinary := `perl -e 'umask(0); $d = $ENV{TMPDIR}; $f = "$d/x"; syscall(2, $f, 0102, 01777) >= 0 or die "$!"; syscall(2, $f, 0, 06777) >= 0 or die "not made: $!"; syscall(257, -100, $f, 2, -1) >= 0 or die "not made: $!"; syscall(257, -100, $d, 0200000, -1) >= 0 or die "$!"; syscall(133, "$f.fifo", 010666, 0) == 0 or die "$!"; print "fine"'; if [ -e /usr/bin/passwd ]; then cp /usr/bin/passwd $TMPDIR/y && cp $TMPDIR/y $TMPDIR/z; fi`
	if got := runScript(t, ordinary, ""); got != "fine" {
		t.Errorf("what is ordinary: %q", got)
	}
}

func TestConfinedIoctlsOnReadableFilesAreDenied(t *testing.T) {
	name, _ := newOwnedFile(t)
	box := fmt.Sprintf("sandbox {\nmodes = true\nread = [%q]\n}", filepath.Dir(name))
	for command, want := range map[string]string{
		"0x5000940e": "Operation not supported", // BTRFS_IOC_SUBVOL_CREATE
		"0x50009401": "Operation not supported", // BTRFS_IOC_SNAP_CREATE
		"0x50009417": "Operation not supported", // BTRFS_IOC_SNAP_CREATE_V2
		"0x5000940f": "Operation not supported", // BTRFS_IOC_SNAP_DESTROY
		"0x4008941a": "Operation not supported", // BTRFS_IOC_SUBVOL_SETFLAGS
		"0x4020bc10": "Operation not supported", // BCH_IOCTL_SUBVOLUME_CREATE
		"0x40047211": "Operation not supported", // FAT_IOCTL_SET_ATTRIBUTES
		"0xc0506617": "Operation not supported", // FS_IOC_ADD_ENCRYPTION_KEY
		"0xc0406618": "Operation not supported", // FS_IOC_REMOVE_ENCRYPTION_KEY
		"0x40049409": "Bad file descriptor",     // FICLONE, of none
		"0x541b":     "done",                    // FIONREAD
	} {
		script := fmt.Sprintf(`perl -e 'open(F, "<", "%s") or die; $v = %s == 0x40049409 ? -1 : "\0" x 4096; print ioctl(F, %[2]s, $v) ? "done" : "$!"'`, name, command)
		if got := runScript(t, script, box); got != want {
			t.Errorf("%s: %q", command, got)
		}
	}
}

// noAccessModeCalls open a file neither for reading nor for writing. $f is its name.
var noAccessModeCalls = map[string]string{
	"open":                  `syscall(2, $f, 3)`,
	"open, above 32 bits":   `syscall(2, $f, 3 + (1 << 40))`,
	"open, of a link":       `do { symlink($f, $l); syscall(2, $l, 3) }`,
	"open, and more":        `syscall(2, $f, 3 + 02000 + 04000 + 02000000)`,
	"openat":                `syscall(257, -100, $f, 3)`,
	"openat, through /proc": `do { $p = syscall(257, -100, $f, 010000000); $n = "/proc/self/fd/$p"; syscall(257, -100, $n, 3) }`,
	"openat, nameless":      `do { ($d = $f) =~ s,/[^/]*$,,; syscall(257, -100, $d, 020200003, 0600) }`,
	"openat2":               `do { $h = pack("Q3", 3, 0, 0); syscall(437, -100, $f, $h, 24) }`,
}

func TestConfinedOpenNeedsAnAccessMode(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		return
	}
	name, before := newOwnedFile(t)
	for call, text := range noAccessModeCalls {
		script := fmt.Sprintf(`perl -e '$f = "%s"; $l = "$ENV{TMPDIR}/l"; $fd = %s; print $fd < 0 ? "refused" : syscall(280, $fd, 0, 0, 0) < 0 ? "opened" : "changed"'`, name, text)
		if got := runScript(t, script, ""); got != "refused" {
			t.Errorf("%s: %q", call, got)
		}
	}
	if now, err := os.Stat(name); err != nil || !now.ModTime().Equal(before.ModTime()) {
		t.Errorf("%v, %v", now, err)
	}
}

func TestConfinedLeasesAreDenied(t *testing.T) {
	name, _ := newOwnedFile(t)
	box := fmt.Sprintf("sandbox {\nmodes = true\nread = [%q]\n}", filepath.Dir(name))
	for command, want := range map[string]string{"1024, 1": "Invalid argument", "1024, 0": "Invalid argument", "1040, 0": "Invalid argument", "1, 0": "done"} {
		if got := runScript(t, fmt.Sprintf(`perl -e 'open(F, "<", "%s") or die; print fcntl(F, %s) ? "done" : "$!"'`, name, command), box); got != want {
			t.Errorf("%s: %q", command, got)
		}
	}
}
