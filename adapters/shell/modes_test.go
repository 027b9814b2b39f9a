package shell

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"hatchel/adapters/adaptertest"
)

// modes is the sandbox block of programs that may change modes, groups and times.
const modes = "sandbox { modes = true }"

// owned makes a file that the user of this process owns and that was changed long ago, in a folder that may be read.
func owned(t *testing.T) (name string, before os.FileInfo) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(name, old, old); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return name, before
}

// changing are all calls by which an owner changes modes, groups and times. $f is the name of a file, F the file, open to be read, $d its folder, open.
var changing = map[string]string{
	"chmod":                     "syscall(90, $f, 0666)",
	"fchmod":                    "syscall(91, fileno(F), 0666)",
	"fchmodat":                  "syscall(268, -100, $f, 0666)",
	"fchmodat2":                 "syscall(452, -100, $f, 0666, 0)",
	"chown":                     "syscall(92, $f, -1, $g)",
	"fchown":                    "syscall(93, fileno(F), -1, $g)",
	"lchown":                    "syscall(94, $f, -1, $g)",
	"fchownat":                  "syscall(260, -100, $f, -1, $g, 0)",
	"utime":                     "syscall(132, $f, $t)",
	"utime, now":                "syscall(132, $f, 0)",
	"utimes":                    "syscall(235, $f, $t)",
	"futimesat":                 "syscall(261, -100, $f, $t)",
	"futimesat, of a file":      "syscall(261, fileno(F), 0, $t)",
	"utimensat":                 "syscall(280, -100, $f, $t, 0)",
	"utimensat, now":            "syscall(280, -100, $f, 0, 0)",
	"utimensat, of a file":      "syscall(280, fileno(F), 0, $t, 0)",
	"utimensat, of no path":     "syscall(280, fileno(F), $e, 0, 0x1000)",
	"through the name of /proc": `chmod(0666, "/proc/self/fd/" . fileno(F)) || -1`,
}

func TestAConfinedProgramChangesNoModeNoGroupAndNoTime(t *testing.T) {
	if runtime.GOARCH != "amd64" { // whose numbers these are
		return
	}
	name, before := owned(t)
	for call, text := range changing {
		script := fmt.Sprintf(`perl -e '$f = "%s"; $e = ""; $g = $) + 0; $t = pack("q4", 1, 0, 1, 0); open(F, "<", $f) or die; $r = %s; print $r == -1 ? "$!" : "done"'`, name, text)
		read := fmt.Sprintf("sandbox {\nread = [%q]\n", filepath.Dir(name))
		if got := attempt(t, script, read+"}"); got != "Operation not permitted" {
			t.Errorf("%s: %q", call, got)
		}
		if now, err := os.Stat(name); err != nil || now.Mode() != before.Mode() || !now.ModTime().Equal(before.ModTime()) {
			t.Fatalf("%s has changed %v, %v", call, now, err)
		}
		if got := attempt(t, script, read+"modes = true\n}"); got != "done" {
			t.Errorf("%s, with modes: %q", call, got)
		}
		if err := os.Chmod(name, before.Mode()); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, before.ModTime(), before.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNoProgramGivesRightsToWhoRunsAFile(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		return
	}
	for _, call := range []string{"syscall(90, $f, 04755)", "syscall(91, fileno(F), 06755)", "syscall(268, -100, $f, 02755)", "syscall(452, -100, $f, 04755, 0)"} {
		for _, box := range []string{"", modes} {
			script := fmt.Sprintf(`perl -e '$f = "$ENV{TMPDIR}/x"; open(F, ">", $f) or die; print %s < 0 ? "refused" : "done"'`, call)
			if got := attempt(t, script, box); got != "refused" {
				t.Errorf("%s, %s: %q", call, box, got)
			}
		}
	}
}

func TestWhatNeedsModesSaysSo(t *testing.T) {
	for program, script := range map[string]string{
		"cp -p":   "cp -p x y",
		"chmod":   "chmod 755 x && ./x",
		"gzip":    "gzip x && gunzip x.gz",
		"install": "install x y",
		"tar":     "mkdir d && tar cf x.tar x && tar xf x.tar -C d",
		"touch":   "touch -d 2001-01-01 x",
	} {
		t.Run(program, func(t *testing.T) {
			script := "cd \"$TMPDIR\" && echo true > x && if (" + script + ") 2>&1; then echo DONE; fi"
			if got := attempt(t, script, ""); strings.Contains(got, "DONE") {
				t.Errorf("without: %q", got)
			}
			if got := attempt(t, script, modes); got != "DONE\n" {
				t.Errorf("with: %q", got)
			}
		})
	}
}

func TestWhatIsOrdinaryNeedsNoModes(t *testing.T) {
	script := `cd "$TMPDIR" && touch x && touch x && cp x y && mv y z && mkdir -m 700 d && mktemp -p d >/dev/null && echo 'echo runs' > r && sh r && tar cf - x | tar xmf - --no-same-owner --no-same-permissions -C d && gzip -c x | gunzip && echo fine`
	if got := attempt(t, script, ""); got != "runs\nfine\n" {
		t.Errorf("%q", got)
	}
}

func TestFlagsOfFilesThatAreReadStay(t *testing.T) {
	name, _ := owned(t)
	for _, command := range []string{"0x40086602", "0x401c5820", "0x40806685"} {
		script := fmt.Sprintf(`perl -e 'open(F, "<", "%s") or die; $v = "\0" x 128; print ioctl(F, %s, $v) ? "done" : "$!"'`, name, command)
		box := fmt.Sprintf("sandbox {\nmodes = true\nread = [%q]\n}", filepath.Dir(name))
		if got := attempt(t, script, box); got != "Operation not supported" {
			t.Errorf("%s: %q", command, got)
		}
	}
}

func TestTheOwnerOfAFileStays(t *testing.T) {
	if os.Getuid() != 0 {
		return // nobody else can give files away
	}
	name := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(name, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	got := attempt(t, fmt.Sprintf("for c in 'chown 0 %[1]s' 'chmod 666 %[1]s' 'touch -d 2001-01-01 %[1]s'; do $c 2>/dev/null && echo \"$c\"; done; echo over", name), modes)
	if got != "over\n" {
		t.Errorf("%q", got)
	}
}

func TestAFolderThatACallHasOpenedToOthersServesNoOtherCall(t *testing.T) {
	b := adaptertest.Bind(t, tool(`script = "stat -c %a \"$TMPDIR\"; chmod 777 \"$TMPDIR\""
sandbox { modes = true }`))
	for range 3 {
		if out, err := b.Do(t.Context(), `{}`); err != nil || out["stdout"] != "700\n" {
			t.Errorf("%v, %v", out, err)
		}
	}
}

// exitsWith7 is a program for 32-bit processors, which asks to end with 7.
func exitsWith7(t *testing.T) []byte {
	t.Helper()
	const at = 0x08048000
	header := elf.Header32{Type: 2, Machine: 3, Version: 1, Entry: at + 84, Phoff: 52, Ehsize: 52, Phentsize: 32, Phnum: 1}
	copy(header.Ident[:], "\x7fELF\x01\x01\x01")
	code := []byte{0x31, 0xdb, 0xb3, 7, 0x31, 0xc0, 0xb0, 1, 0xcd, 0x80, 0xf4}
	size := uint32(84 + len(code))
	var file bytes.Buffer
	for _, part := range []any{header, elf.Prog32{Type: 1, Vaddr: at, Paddr: at, Filesz: size, Memsz: size, Flags: 5, Align: 0x1000}, code} {
		if err := binary.Write(&file, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return file.Bytes()
}

func TestThereIsNoOtherWayToAskTheKernel(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		return
	}
	name, _ := owned(t)
	if got := attempt(t, fmt.Sprintf(`perl -e '$f = "%s"; print syscall(0x40000000 + 90, $f, 0666) < 0 ? "$!" : "done"'`, name), modes); got != "Function not implemented" {
		t.Errorf("x32: %q", got)
	}
	program := filepath.Join(filepath.Dir(name), "program")
	if err := os.WriteFile(program, exitsWith7(t), 0o755); err != nil {
		t.Fatal(err)
	}
	script := program + "; echo $?"
	if free := attempt(t, script, "sandbox { mode = \"none\" }"); strings.HasSuffix(free, "7\n") { // else the kernel has nothing of the kind
		if got := attempt(t, script, fmt.Sprintf("sandbox {\nmodes = true\nread = [%q]\n}", filepath.Dir(name))); strings.HasSuffix(got, "7\n") {
			t.Errorf("i386: %q", got)
		}
	}
}

// TestAnUnprivilegedServerConfinesAsMuch runs as nobody the tests of what a server without rights of its own confines, when it is root that runs them.
func TestAnUnprivilegedServerConfinesAsMuch(t *testing.T) {
	if os.Getuid() != 0 {
		return // they run so already
	}
	const nobody = 65534
	home, err := os.MkdirTemp("/tmp", "hatchel-nobody")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	if err := os.Chown(home, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", "^Test(AConfinedProgram|APathThat|ALinkWhere|NoProgramGives|WhatNeedsModes|WhatIsOrdinary|FlagsOfFiles|ThereIsNoOther)")
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "TMPDIR=" + home, "PATH=/usr/bin:/bin", confinedByVariable + "=" + os.Getenv(confinedByVariable)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("PASS")) {
		t.Errorf("%v\n%s", err, out)
	}
}
