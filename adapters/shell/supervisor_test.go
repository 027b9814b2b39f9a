package shell

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"hatchel/adapters/adaptertest"
)

func TestConfinedChangesAThousandFiles(t *testing.T) {
	got := runScript(t, `cd "$TMPDIR" && perl -e 'for $n (1 .. 1000) { open(F, ">", $n) or die; chmod(0400 + $n % 8, $n) == 1 or die "$n: $!"; utime($n, $n, $n) == 1 or die "$n: $!" } for $n (1 .. 1000) { @s = stat($n); $s[2] % 512 == 0400 + $n % 8 && $s[9] == $n or die $n } print "fine"'`, "")
	if got != "fine" {
		t.Error(got)
	}
}

func TestConfinedDescendantsChangeFiles(t *testing.T) {
	if got := runScript(t, `cd "$TMPDIR" && for n in 1 2 3 4 5 6 7 8; do (touch $n && sh -c "chmod 40$((n - 1)) $n" && perl -e 'fork // die; chmod(0600, shift) == 1 or print "no: $!\n"; wait' $n) & done; wait; stat -c %a 1 2 3 4 5 6 7 8 | sort -u`, ""); got != "600\n" {
		t.Errorf("%q", got)
	}
	if out := mustRun(t, `pipe = [["sh", "-c", "cd $TMPDIR && touch x && chmod 640 x && stat -c %a x"], ["sh", "-c", "cat; cd $TMPDIR && touch y && chmod 604 y && stat -c %a y"]]`, `{}`); out["stdout"] != "640\n604\n" {
		t.Errorf("%v", out)
	}
}

func TestCallEndsDuringAttrCalls(t *testing.T) {
	for range 2 {
		pid, _ := cancelCall(t, `command = ["perl", "-e", "$SIG{TERM} = 'IGNORE'; $first = $$; for (1 .. 3) { fork // die } if ($$ == $first) { chmod(0700, '.') or die; open(F, '>', 'p'); print F \"$$\n\"; close F; rename('p', 'pid') } 1 while chmod(0600, 'pid') + chmod(0700, 'pid')"]`)
		awaitExit(t, pid)
	}
}

func TestTwoHundredSupervisedCallsLeakNothing(t *testing.T) {
	b := adaptertest.Bind(t, newTool(`script = "touch $TMPDIR/x && chmod 600 $TMPDIR/x && echo fine"`))
	threads := func() int {
		all, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	once := func() {
		if out, err := b.Do(t.Context(), `{}`); err != nil || out["stdout"] != "fine\n" {
			t.Fatalf("%v, %v", out, err)
		}
	}
	const calls, slack = 200, 50
	once()
	before, threadsBefore := countResources(t), threads()
	for range calls {
		once()
	}
	var after resources
	if !eventually(func() bool {
		after = countResources(t)
		return after.files <= before.files+slack && after.goroutines <= before.goroutines+slack && after.children <= before.children+slack && threads() <= threadsBefore+slack
	}) {
		t.Errorf("%d calls made %+v of %+v, and %d threads of %d", calls, after, before, threads(), threadsBefore)
	}
}

// runWithPause runs a script that may write to a directory. When the script has made the file "ready" there, between is
// called.
func runWithPause(t *testing.T, folder, script string, between func()) string {
	t.Helper()
	got := make(chan string)
	go func() {
		out, err := adaptertest.Bind(t, newTool(fmt.Sprintf("script = %q\nstderr = \"merge\"\nsandbox { write = [%q] }", script, folder))).Do(t.Context(), `{}`)
		got <- fmt.Sprint(out["stdout"], err)
	}()
	if !eventually(func() bool { _, err := os.Stat(filepath.Join(folder, "ready")); return err == nil }) {
		t.Fatal("the program never came to run")
	}
	between()
	return <-got
}

func TestConfinedFileMovedOutOfRootStays(t *testing.T) {
	folder := t.TempDir()
	inside, outside := filepath.Join(folder, "d"), filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(inside, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	script := "cd " + inside + ` && perl -e 'open(F, "+<", "x") or die; open(R, ">", "../ready"); select(undef, undef, undef, 0.01) while ! -e "` + folder + `/go"; print chmod(0666, *F) || "$!", "\n", chmod(0666, "x") || "$!", "\n", chmod(0777, ".") || "$!", "\n"'`
	got := runWithPause(t, folder, script, func() {
		if err := os.Rename(inside, outside); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	if want := strings.Repeat("Operation not permitted\n", 3) + "<nil>"; got != want {
		t.Errorf("%q", got)
	}
	if info, err := os.Stat(filepath.Join(outside, "x")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestConfinedRenamedRootStaysWritable(t *testing.T) {
	above := t.TempDir()
	folder := filepath.Join(above, "w")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	script := "cd " + folder + ` && perl -e 'open(F, ">", "x"); open(R, ">", "ready"); select(undef, undef, undef, 0.01) while ! -e "go"; print chmod(0640, "x") || "$!", "\n", chmod(0640, "` + folder + `/x") || "$!", "\n"'`
	got := runWithPause(t, folder, script, func() {
		if err := os.Rename(folder, folder+"2"); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "x"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder+"2", "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	if want := "1\nOperation not permitted\n<nil>"; got != want {
		t.Errorf("%q", got)
	}
}

func TestConfinedHardLinks(t *testing.T) {
	name, _ := newOwnedFile(t)
	folder := t.TempDir()
	if err := os.Link(name, filepath.Join(folder, "x")); err != nil {
		t.Fatal(err)
	}
	got := runScript(t, fmt.Sprintf("chmod 640 %s 2>&1; chmod 644 %s/x && stat -c %%a %[2]s/x", name, folder), fmt.Sprintf("sandbox {\nread = [%q]\nwrite = [%q]\n}", filepath.Dir(name), folder))
	if !strings.Contains(got, "not permitted") || !strings.HasSuffix(got, "\n644\n") {
		t.Errorf("%q", got)
	}
}

func TestConfinedSingleWritableFile(t *testing.T) {
	name, _ := newOwnedFile(t)
	got := runScript(t, fmt.Sprintf("chmod 640 %s && chmod 755 %s 2>&1; stat -c %%a %[1]s", name, filepath.Dir(name)), fmt.Sprintf("sandbox { write = [%q] }", name))
	if !strings.Contains(got, "not permitted") || !strings.HasSuffix(got, "\n640\n") {
		t.Errorf("%q", got)
	}
}

func TestConfinedFilesOfOtherUsersStay(t *testing.T) {
	if os.Getuid() != 0 {
		return // nobody else has files of several users
	}
	const nobody = 65534
	folder := t.TempDir()
	for name, owner := range map[string]int{"theirs": nobody, "ours": 0} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(filepath.Join(folder, name), owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	box := fmt.Sprintf("sandbox { write = [%q] }", folder)
	got := runScript(t, fmt.Sprintf("cd %s; for c in 'chown 0 theirs' 'chown :0 theirs' 'chmod 600 theirs' 'touch -d 2001-01-01 theirs' 'chown %d ours'; do $c 2>/dev/null && echo \"$c\"; done; chown :0 ours && chmod 600 ours && echo over", folder, nobody), box)
	if got != "over\n" {
		t.Errorf("%q", got)
	}
	if err := os.Chmod(filepath.Join(folder, "ours"), 0o666); err != nil {
		t.Fatal(err)
	}
	// As another user, with that user's files, groups and access to directories.
	if err := os.Mkdir(filepath.Join(folder, "closed"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(folder, "theirs"), filepath.Join(folder, "closed", "theirs")); err != nil {
		t.Fatal(err)
	}
	got = runScript(t, "cd "+folder+` && perl -e '$) = "65534 65534"; ($<, $>) = (65534, 65534); print "$< $>\n"; open(F, ">", "own") or die; sub say_ { print $_[0] ? "done" : "$!", "\n" } say_(chmod(0600, "ours")); say_(chmod(0600, "closed/theirs")); say_(chown(-1, 0, "own")); say_(chown(0, -1, "own")); say_(chmod(0640, "own")); say_(chmod(0640, *F))'`, box)
	denied := "65534 65534\nOperation not permitted\nPermission denied\nOperation not permitted\nOperation not permitted\n"
	if !hasCapability(t, unix.CAP_SYS_PTRACE) { // of another user nothing can be learned, so it gets nothing done
		if strings.Contains(got, "done") {
			t.Errorf("%q", got)
		}
	} else if got != denied+"done\ndone\n" {
		t.Errorf("%q", got)
	}
	if info, err := os.Stat(filepath.Join(folder, "ours")); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("%v, %v", info, err)
	}
}

// hasCapability reports whether this process has a capability.
func hasCapability(t *testing.T, capability uint) bool {
	t.Helper()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		t.Fatal(err)
	}
	return data[capability/32].Effective>>(capability%32)&1 != 0
}

func TestConfinedServerKeepsItsIdentity(t *testing.T) {
	status := func() string {
		var all strings.Builder
		tasks, err := filepath.Glob("/proc/self/task/*/status")
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			text, _ := os.ReadFile(task)
			for line := range strings.Lines(string(text)) {
				if strings.HasPrefix(line, "Cap") || strings.HasPrefix(line, "Uid") || strings.HasPrefix(line, "Groups") || strings.HasPrefix(line, "Seccomp:") {
					if !strings.Contains(all.String(), line) {
						all.WriteString(line)
					}
				}
			}
		}
		return all.String()
	}
	before := status()
	for range 3 {
		runScript(t, "touch $TMPDIR/x; chmod 600 $TMPDIR/x", "")
	}
	if !eventually(func() bool { return status() == before }) {
		t.Errorf("%s\nbefore:\n%s", status(), before)
	}
}

func TestConfinedUnderForeignListener(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", foreignListenerMode)
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("PASS")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// foreignListenerMode makes the test binary run one test under a seccomp listener.
const foreignListenerMode = "run-under-a-listener"

// foreignListenerVariable is set in the process under the listener.
const foreignListenerVariable = "HATCHEL_TEST_LISTENED"

func TestForeignListenerChild(t *testing.T) {
	if os.Getenv(foreignListenerVariable) == "" {
		return // there is none; see above
	}
	if got := adaptertest.MustReject(t, newTool(`command = ["true"]`)); !strings.Contains(got, "modes = true") {
		t.Error(got)
	}
	if got := runScript(t, "chmod 700 $TMPDIR && echo fine", allowModes); got != "fine\n" {
		t.Error(got)
	}
}

// runUnderForeignListener does not return.
func runUnderForeignListener() {
	runtime.LockOSThread()
	exitOnError(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	all := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
	l, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&unix.SockFprog{Len: 1, Filter: &all})))
	if errno != 0 {
		exitOnError(errno)
	}
	_, err := unix.FcntlInt(l, unix.F_SETFD, 0)
	exitOnError(err)
	exitOnError(unix.Exec("/proc/self/exe", []string{"test", "-test.run", "^TestForeignListenerChild$"}, append(os.Environ(), foreignListenerVariable+"=1")))
}
