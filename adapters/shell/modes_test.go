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

// allowModes lets programs change modes, groups and times.
const allowModes = "sandbox { modes = true }"

// newOwnedFile makes a file with an old modification time in a new directory.
func newOwnedFile(t *testing.T) (name string, before os.FileInfo) {
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

// attrCalls are all calls that change modes, groups and times. $f is the name of a file, F the file, open for reading, and
// $d its open directory.
var attrCalls = map[string]string{
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

func TestConfinedAttrCallsAreDenied(t *testing.T) {
	if runtime.GOARCH != "amd64" { // whose numbers these are
		return
	}
	name, before := newOwnedFile(t)
	for call, text := range attrCalls {
		script := fmt.Sprintf(`perl -e '$f = "%s"; $e = ""; $g = $) + 0; $t = pack("q4", 1, 0, 1, 0); open(F, "<", $f) or die; $r = %s; print $r == -1 ? "$!" : "done"'`, name, text)
		read := fmt.Sprintf("sandbox {\nread = [%q]\n", filepath.Dir(name))
		if got := runScript(t, script, read+"}"); got != "Operation not permitted" {
			t.Errorf("%s: %q", call, got)
		}
		if now, err := os.Stat(name); err != nil || now.Mode() != before.Mode() || !now.ModTime().Equal(before.ModTime()) {
			t.Fatalf("%s has changed %v, %v", call, now, err)
		}
		if got := runScript(t, script, read+"modes = true\n}"); got != "done" && (call != "fchmodat2" || got != "Function not implemented") { // which Linux has from 6.6 on
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

func TestConfinedSetsNoSetIDBits(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		return
	}
	for _, call := range []string{"syscall(90, $f, 04755)", "syscall(91, fileno(F), 06755)", "syscall(268, -100, $f, 02755)", "syscall(452, -100, $f, 04755, 0)"} {
		for _, box := range []string{"", allowModes} {
			script := fmt.Sprintf(`perl -e '$f = "$ENV{TMPDIR}/x"; open(F, ">", $f) or die; print %s < 0 ? "refused" : "done"'`, call)
			if got := runScript(t, script, box); got != "refused" {
				t.Errorf("%s, %s: %q", call, box, got)
			}
		}
	}
}

// commonPrograms change modes, groups and times. A program is skipped if the needed file does not exist. Each script runs
// in a directory with a file x.
var commonPrograms = map[string]struct{ needs, script string }{
	"cp -p":         {"/bin/cp", "cp -p x y && cp -a . ../copy$$ && rm -r ../copy$$"},
	"chmod":         {"/bin/chmod", "chmod 755 x && ./x && chmod -R u+rwX,go-w . && test $(stat -c %a x) = 755"},
	"chgrp":         {"/bin/chgrp", "ln -s x l && chgrp $(id -g) x && chgrp -h $(id -g) l && chown $(id -u):$(id -g) x"},
	"gzip":          {"/bin/gzip", "gzip x && gunzip x.gz"},
	"bzip2":         {"/bin/bzip2", "bzip2 x && bunzip2 x.bz2"},
	"xz":            {"/usr/bin/xz", "xz x && unxz x.xz"},
	"zstd":          {"/usr/bin/zstd", "zstd -q --rm x && unzstd -q x.zst"},
	"install":       {"/usr/bin/install", "install -D -m 640 x d/y && test $(stat -c %a d/y) = 640"},
	"tar":           {"/bin/tar", "mkdir d && chmod 751 x && touch -d 2001-01-01 x && ln -s x l && tar cf t.tar x l && tar xpf t.tar -C d && test $(stat -c %a-%Y d/x) = 751-$(stat -c %Y x)"},
	"touch":         {"/usr/bin/touch", "touch -d 2001-01-01 x && test $(stat -c %Y x) = $(date -d 2001-01-01 +%s) && ln -s x l && touch -h -d 2002-02-02 l"},
	"sed -i":        {"/bin/sed", "sed -i s/true/false/ x && grep -q false x"},
	"patch":         {"/usr/bin/patch", "printf -- '--- x\n+++ x\n@@ -1 +1 @@\n-true\n+false\n' | patch -s && grep -q false x"},
	"git":           {"/usr/bin/git", "export HOME=/ && git init -q r && cd r && cp ../x . && git add x && git -c user.name=n -c user.email=e@x commit -q -m m && git clone -q . ../c && cmp x ../c/x"},
	"a compiler":    {"/usr/bin/gcc", "echo 'int main(void) { return 0; }' > m.c && gcc m.c -o m && ./m"},
	"python":        {"/usr/bin/python3", "/usr/bin/python3 -c 'import shutil, os; shutil.copy(\"x\", \"y\"); shutil.copy2(\"x\", \"z\"); shutil.copytree(\".\", \"../t\" + str(os.getpid())); os.utime(\"x\", ns=(5, 7)); assert os.stat(\"x\").st_mtime_ns == 7; shutil.rmtree(\"../t\" + str(os.getpid()))'"},
	"perl":          {"/usr/bin/perl", "perl -e 'utime(1, 2, \"x\") == 1 && (stat \"x\")[9] == 2 && chmod(0700, \"x\") == 1 or die'"},
	"node":          {"/usr/bin/node", "node -e 'require(\"fs\").copyFileSync(\"x\", \"y\"); require(\"fs\").utimesSync(\"y\", 1, 2)'"},
	"umask is kept": {"/bin/sh", "umask 027 && echo > n && test $(stat -c %a n) = 640"},
}

func TestConfinedCommonProgramsWork(t *testing.T) {
	for program, c := range commonPrograms {
		if _, err := os.Stat(c.needs); err != nil {
			continue
		}
		t.Run(program, func(t *testing.T) {
			run := "echo true > x && if (" + c.script + ") 2>&1; then echo DONE; fi"
			folder := t.TempDir()
			for place, box := range map[string]string{"$TMPDIR": "", folder + "/in": fmt.Sprintf("sandbox { write = [%q] }", folder)} {
				if got := runScript(t, "mkdir -p \""+place+"/w\" && cd \""+place+"/w\" && "+run, box); got != "DONE\n" {
					t.Errorf("%s: %q", place, got)
				}
			}
		})
	}
}

func TestConfinedOrdinaryScriptWorks(t *testing.T) {
	script := `cd "$TMPDIR" && touch x && touch x && cp x y && mv y z && mkdir -m 700 d && mktemp -p d >/dev/null && echo 'echo runs' > r && sh r && tar cf - x | tar xmf - --no-same-owner --no-same-permissions -C d && gzip -c x | gunzip && echo fine`
	if got := runScript(t, script, ""); got != "runs\nfine\n" {
		t.Errorf("%q", got)
	}
}

func TestConfinedFileFlagsAreDenied(t *testing.T) {
	name, _ := newOwnedFile(t)
	for _, command := range []string{"0x40086602", "0x401c5820", "0x40806685"} {
		script := fmt.Sprintf(`perl -e 'open(F, "<", "%s") or die; $v = "\0" x 128; print ioctl(F, %s, $v) ? "done" : "$!"'`, name, command)
		box := fmt.Sprintf("sandbox {\nmodes = true\nread = [%q]\n}", filepath.Dir(name))
		if got := runScript(t, script, box); got != "Operation not supported" {
			t.Errorf("%s: %q", command, got)
		}
	}
}

func TestFileOwnersStay(t *testing.T) {
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
	got := runScript(t, fmt.Sprintf("for c in 'chown 0 %[1]s' 'chmod 666 %[1]s' 'touch -d 2001-01-01 %[1]s'; do $c 2>/dev/null && echo \"$c\"; done; echo over", name), allowModes)
	if got != "over\n" {
		t.Errorf("%q", got)
	}
}

func TestConfinedOpenedTempDirIsNotReused(t *testing.T) {
	b := adaptertest.Bind(t, newTool(`script = "stat -c %a \"$TMPDIR\"; chmod 777 \"$TMPDIR\""
sandbox { modes = true }`))
	for range 3 {
		if out, err := b.Do(t.Context(), `{}`); err != nil || out["stdout"] != "700\n" {
			t.Errorf("%v, %v", out, err)
		}
	}
}

func TestConfinedClosedTempDirIsRemoved(t *testing.T) {
	for _, closed := range []string{"$TMPDIR", "$TMPDIR/d $TMPDIR", "$TMPDIR/d/e $TMPDIR/d"} {
		room := strings.TrimSpace(runScript(t, "echo $TMPDIR; mkdir -p $TMPDIR/d/e; echo text > $TMPDIR/d/e/f; chmod 0 "+closed, ""))
		if _, err := os.Stat(room); !os.IsNotExist(err) || !filepath.IsAbs(room) {
			t.Errorf("%s: %q, %v", closed, room, err)
		}
	}
}

// exitsWith7 returns a program for 32-bit processors that exits with code 7.
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

func TestConfinedOtherABIsAreDenied(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		return
	}
	name, _ := newOwnedFile(t)
	if got := runScript(t, fmt.Sprintf(`perl -e '$f = "%s"; print syscall(0x40000000 + 90, $f, 0666) < 0 ? "$!" : "done"'`, name), allowModes); got != "Function not implemented" {
		t.Errorf("x32: %q", got)
	}
	program := filepath.Join(filepath.Dir(name), "program")
	if err := os.WriteFile(program, exitsWith7(t), 0o755); err != nil {
		t.Fatal(err)
	}
	script := program + "; echo $?"
	if free := runScript(t, script, "sandbox { mode = \"none\" }"); strings.HasSuffix(free, "7\n") { // else the kernel has nothing of the kind
		if got := runScript(t, script, fmt.Sprintf("sandbox {\nmodes = true\nread = [%q]\n}", filepath.Dir(name))); strings.HasSuffix(got, "7\n") {
			t.Errorf("i386: %q", got)
		}
	}
}

// TestUnprivilegedServer runs tests of the sandbox as nobody if the user is root.
func TestUnprivilegedServer(t *testing.T) {
	if os.Getuid() != 0 {
		return // they run so already
	}
	t.Parallel() // in a process of its own
	const nobody = 65534
	home, err := os.MkdirTemp("/tmp", "hatchel-nobody")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	if err := os.Chown(home, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(home, "shell.test") // where nobody can run it
	program, err := os.ReadFile(executable(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(self, program, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run", "^TestConfined")
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "TMPDIR=" + home, "PATH=/usr/bin:/bin", abiVariable + "=" + os.Getenv(abiVariable)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("PASS")) {
		t.Errorf("%v\n%s", err, out)
	}
}
