package shell

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hatchel/adapters/adaptertest"
)

// runScript runs a script with a sandbox block and returns its output.
func runScript(t *testing.T, script, sandbox string) string {
	t.Helper()
	return mustRun(t, fmt.Sprintf("script = %q\nstderr = \"merge\"\n%s", strings.ReplaceAll(script, "${", "$${"), sandbox), `{}`)["stdout"].(string)
}

func TestConfinedReads(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "file"), []byte("outside\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	read := fmt.Sprintf("sandbox { read = [%q] }", outside)
	link := "ln -s " + outside + "/file $TMPDIR/link; cat $TMPDIR/link"
	for name, c := range map[string]struct{ script, sandbox, want string }{
		"outside":         {"cat " + outside + "/file", "", "denied"},
		"listed":          {"ls " + outside, "", "denied"},
		"through a link":  {link, "", "denied"},
		"through /proc":   {"cat /proc/self/root" + outside + "/file", "", "denied"},
		"named":           {"cat " + outside + "/file", read, "outside\n"},
		"named, linked":   {link, read, "outside\n"},
		"shadow":          {"cat /etc/shadow", "", "denied"},
		"the server":      {fmt.Sprintf("cat /proc/%d/environ", os.Getpid()), "", "denied"},
		"its memory":      {fmt.Sprintf("head -c 1 /proc/%d/mem", os.Getpid()), "", "denied"},
		"the own folder":  {"echo text > /dev/null; ls -d .", "", ".\n"},
		"the C library":   {"getent passwd root | cut -d: -f1", "", "root\n"},
		"the time zone":   {"TZ=Europe/Paris date +%Z | tr -d 'ES'", "", "CT\n"},
		"free":            {"cat " + outside + "/file", "sandbox { mode = \"none\" }", "outside\n"},
		"a processor":     {"nproc >/dev/null && echo fine", "", "fine\n"},
		"the environment": {"cat /proc/self/environ >/dev/null && echo fine", "", "fine\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := runScript(t, c.script+" 2>&1 || true", c.sandbox)
			if c.want == "denied" && !strings.Contains(got, "ermission denied") || c.want != "denied" && got != c.want {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestConfinedWrites(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "file"), []byte("kept"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{
		"echo x > file", "echo x > /tmp/hatchel-written", "echo x > OUT/new", "echo x > OUT/file", "truncate -s 0 OUT/file", "rm OUT/file", "mv OUT/file OUT/moved", "mkdir OUT/folder",
		"ln OUT/file $TMPDIR/link", "echo x >> /dev/shm/x", "mknod $TMPDIR/device c 1 3",
	} {
		script = strings.ReplaceAll(script, "OUT", outside)
		if got := runScript(t, "("+script+") 2>&1 && echo DONE || true", ""); strings.Contains(got, "DONE") {
			t.Errorf("%s: %q", script, got)
		}
	}
	if text, err := os.ReadFile(filepath.Join(outside, "file")); err != nil || string(text) != "kept" {
		t.Errorf("%q, %v", text, err)
	}
	write := fmt.Sprintf("sandbox { write = [%q] }", outside)
	if got := runScript(t, strings.ReplaceAll("echo x > OUT/new; mkdir OUT/a; mv OUT/new OUT/a/; echo y > $TMPDIR/t; mv $TMPDIR/t OUT/a/t; cat OUT/a/*; rm -r OUT/a", "OUT", outside), write); got != "x\ny\n" {
		t.Errorf("%q", got)
	}
}

func TestEachCallHasItsOwnTempDir(t *testing.T) {
	b := adaptertest.Bind(t, newTool(`script = "ls -A $TMPDIR; echo $TMPDIR; echo $((1 + 1)) > $TMPDIR/x; mkdir -p $TMPDIR/d/e; echo x > $TMPDIR/d/e/f; chmod 0 $TMPDIR/d"
sandbox { modes = true }`))
	for range 3 {
		out, err := b.Do(t.Context(), `{}`)
		if err != nil {
			t.Fatal(err)
		}
		room := strings.TrimSpace(out["stdout"].(string))
		if strings.Contains(room, "\n") || !filepath.IsAbs(room) {
			t.Fatalf("%q", room)
		}
		if _, err := os.Stat(room); !os.IsNotExist(err) {
			t.Errorf("%s: %v", room, err)
		}
	}
	empty := adaptertest.Bind(t, newTool(`script = "echo $TMPDIR"`))
	out, err := empty.Do(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := empty.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(strings.TrimSpace(out["stdout"].(string))); !os.IsNotExist(err) {
		t.Error("an unused folder is left behind")
	}
}

// socketScripts open sockets and write OPEN if they can.
func socketScripts(tcp, udp, unix string) map[string]string {
	perl := func(lines string) string {
		return "perl -MSocket=:all -e '" + lines + ` or die "$!\n"; print "OPEN"` + "'"
	}
	return map[string]string{
		"tcp":           "exec 3<>/dev/tcp/" + strings.Replace(tcp, ":", "/", 1) + " && echo OPEN",
		"udp":           "echo x >/dev/udp/" + strings.Replace(udp, ":", "/", 1) + " && echo OPEN",
		"unix":          perl(`socket(S, AF_UNIX, SOCK_STREAM, 0) && connect(S, pack_sockaddr_un("` + unix + `"))`),
		"abstract":      perl(`socket(S, AF_UNIX, SOCK_STREAM, 0) && bind(S, pack_sockaddr_un("\0hatchel-$$"))`),
		"netlink":       perl(`socket(S, 16, SOCK_RAW, 0)`),
		"datagram pair": perl(`socketpair(A, B, AF_UNIX, SOCK_DGRAM, 0)`),
		"listening":     perl(`socket(S, AF_INET, SOCK_STREAM, 0) && bind(S, pack_sockaddr_in(0, INADDR_LOOPBACK)) && listen(S, 1)`),
	}
}

func TestNoNetwork(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	path := filepath.Join(t.TempDir(), "s")
	local, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	for name, script := range socketScripts(tcp.Addr().String(), udp.LocalAddr().String(), path) {
		t.Run(name, func(t *testing.T) {
			script := "#!/bin/bash\n(" + script + ") 2>&1 || true"
			for _, read := range []string{"", ", read = [\"" + filepath.Dir(path) + "\"]"} {
				if got := runScript(t, script, "sandbox {\nnetwork = false"+strings.ReplaceAll(read, ", ", "\n")+"\n}"); strings.Contains(got, "OPEN") || !strings.Contains(got, "ermission") {
					t.Errorf("without: %q", got)
				}
			}
			if got := runScript(t, script, "sandbox {\nnetwork = true\nwrite = [\""+filepath.Dir(path)+"\"]\n}"); !strings.Contains(got, "OPEN") {
				t.Errorf("with: %q", got)
			}
		})
	}
	if got := runScript(t, `perl -MSocket=:all -e 'socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or die; syswrite(A, "x"); sysread(B, $x, 1); print $x'`, ""); got != "x" {
		t.Errorf("a connected pair: %q", got)
	}
}

// The fork bomb sleeps between doublings: otherwise it has thousands of processes before a busy machine lets the server
// stop it, and other tests run at the same time.
func TestLimits(t *testing.T) {
	for name, c := range map[string]struct{ block, want string }{
		"fork bomb":      {"script = \"f() { sleep 0.02; f | f & }; f; sleep 1000\"\nsandbox { processes = 20 }", "the script was stopped: more than the limit of 20 processes at the same time"},
		"sleepers":       {"script = \"for i in $(seq 100); do sleep 1000 & done; wait\"\nsandbox { processes = 20 }", "more than the limit of 20 processes"},
		"one processor":  {"script = \"while :; do :; done\"\nsandbox { cpu = \"300ms\" }", "the script was stopped: more than the limit of 300ms of CPU time"},
		"two processors": {"pipe = [[\"sh\", \"-c\", \"while :; do :; done\"], [\"sh\", \"-c\", \"while :; do :; done\"]]\nsandbox { cpu = \"1s\" }", "the commands were stopped: more than the limit of 1s of CPU time"},
		"memory":         {"command = [\"perl\", \"-e\", \"$x = 'x' x (300 << 20)\"]\nsandbox { memory = \"64MiB\" }", "Out of memory"},
		"memory of many": {"command = [\"perl\", \"-e\", \"for (1..8) { if (!fork) { $x = 'x' x (40 << 20); last } } sleep 1000\"]\nsandbox { memory = \"128MiB\" }", "more than the limit of 128 MiB of memory"},
		"a file":         {"command = [\"dd\", \"if=/dev/zero\", \"of=x\", \"bs=1M\", \"count=3\"]\nsandbox {\nwrite = [\".\"]\nfile_size = \"2MiB\"\n}", "dd was stopped: a file exceeded the limit of 2 MiB"},
		"a script's":     {"script = \"head -c 3M /dev/zero > $TMPDIR/x\"\nsandbox { file_size = \"2MiB\" }", "the script was stopped: a file exceeded the limit of 2 MiB"},
		"files":          {"command = [\"perl\", \"-e\", \"for (1..100) { open($f[$_], '<', '/dev/null') or die qq($!\\n) }\"]\nsandbox { open_files = 64 }", "Too many open files"},
	} {
		t.Run(name, func(t *testing.T) {
			if f := runFault(t, c.block, `{}`); !strings.Contains(f.Message, c.want) {
				t.Error(f.Message)
			}
		})
	}
}

// Where memory is limited, files in memory count, in every process, and files without a name are refused.
func TestMemoryLimitCountsWhatIsNoMemoryOfAProcess(t *testing.T) {
	const inMemory = "/dev/shm"
	var fs unix.Statfs_t
	if unix.Statfs(inMemory, &fs) != nil || fs.Type != unix.TMPFS_MAGIC || runtime.GOARCH != "amd64" { // whose numbers these are
		t.Skip("needs a tmpfs at /dev/shm and the system call numbers of amd64")
	}
	t.Setenv("TMPDIR", inMemory)
	const limit, exceeded = "\nsandbox { memory = \"64MiB\" }", "more than the limit of 64 MiB of memory"
	for name, script := range map[string]string{
		"a file":              "head -c 100M /dev/zero > $TMPDIR/x; sleep 1000",
		"several files":       "for i in 1 2 3 4; do head -c 25M /dev/zero > $TMPDIR/$i; done; sleep 1000",
		"a removed file":      "exec 3>$TMPDIR/x; rm $TMPDIR/x; head -c 100M /dev/zero >&3; sleep 1000",
		"a file and memory":   "head -c 40M /dev/zero > $TMPDIR/x; perl -e '$x = 1; $x = $x x (40 << 20); sleep 1000'",
		"shared memory":       "perl -e '$a = syscall(9, 0, 100 << 20, 3, 0x21, -1, 0); syscall(28, $a, 100 << 20, 23); sleep 1000'", // mmap, madvise
		"many empty files":    "perl -e 'for (1..100000) { open(F, \">\", \"$ENV{TMPDIR}/$_\") } sleep 1000'",
		"a file in a subtree": "mkdir -p $TMPDIR/a/b; head -c 100M /dev/zero > $TMPDIR/a/b/x; sleep 1000",
	} {
		t.Run(name, func(t *testing.T) {
			if f := runFault(t, fmt.Sprintf("script = %q%s", script, limit), `{}`); !strings.Contains(f.Message, exceeded) {
				t.Error(f.Message)
			}
		})
	}
	for name, script := range map[string]string{
		"less":                   "head -c 40M /dev/zero > $TMPDIR/x; ln $TMPDIR/x $TMPDIR/y; sleep 0.3",
		"a file that is mapped":  "head -c 40M /dev/zero > $TMPDIR/x; perl -e 'open(F, \"<\", \"$ENV{TMPDIR}/x\"); $a = syscall(9, 0, 40 << 20, 1, 2, fileno(F), 0); syscall(28, $a, 40 << 20, 22); sleep 1'",
		"a file that is removed": "for i in 1 2 3 4; do head -c 25M /dev/zero > $TMPDIR/x; rm $TMPDIR/x; done; sleep 0.3",
	} {
		t.Run(name, func(t *testing.T) { mustRun(t, fmt.Sprintf("script = %q%s", script, limit), `{}`) })
	}
	for number, name := range map[int]string{319: "memfd_create", 447: "memfd_secret"} {
		script := fmt.Sprintf(`perl -e '$n = "x"; print syscall(%d, %s) < 0 ? $!{ENOSYS} ? "no such call" : "$!" : "done"'`, number, map[int]string{319: "$n, 0", 447: "0"}[number])
		if got := runScript(t, script, limit); got != "no such call" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := runScript(t, `perl -e '$n = "x"; print syscall(319, $n, 0) < 0 ? "$!" : "done"'`, ""); got != "done" {
		t.Errorf("without a limit: %q", got)
	}
}

func TestNoPrivilegesAreGained(t *testing.T) {
	signalled := "not permitted\n"
	if testABI() < 6 {
		signalled = "" // by the kernel's own rule, which lets root reach all and everybody else what is his
	}
	for name, c := range map[string]struct{ script, want string }{
		"setuid programs gain nothing":                 {"grep NoNewPrivs /proc/self/status | tr -d '\\t'", "NoNewPrivs:1\n"},
		"few capabilities":                             {"perl -e 'open(F, \"/proc/self/status\"); for (<F>) { print hex($1) & ~0x4c2 if /^CapEff:\\s+(\\w+)/ }'", "0"},
		"the server is not signalled":                  {fmt.Sprintf("kill -0 %d 2>&1 | grep -o 'not permitted' || true", os.Getpid()), signalled},
		"nor its limits changed":                       {fmt.Sprintf("prlimit --pid %d --nofile=10 2>&1 | grep -o 'not permitted'", os.Getpid()), "not permitted\n"},
		"its own children are":                         {"sleep 1000 & kill $! && echo killed", "killed\n"},
		"only three files are open":                    {"ls /proc/self/fd | wc -l", "4\n"}, // and the folder that ls reads
		"no signal is blocked or ignored that was not": {"grep -E 'SigBlk|SigIgn' /proc/self/status | tr -d '\\t'", "SigBlk:0000000000000000\n" + ignoredSignals(t)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := runScript(t, c.script, ""); got != c.want {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestDeniedSystemCalls(t *testing.T) {
	for name, call := range map[string]string{
		"no shared memory":     "syscall(29, 0x4841, 1000, 01600)",
		"no queue":             "syscall(68, 0x4841, 01600)",
		"no semaphore":         "syscall(64, 0x4841, 1, 01600)",
		"no key":               "syscall(248, $u, $v, $v, 1, -4)",
		"no user namespace":    "syscall(272, 0x10000000)",
		"no new child in one":  "syscall(56, 0x10000011, 0, 0, 0, 0)",
		"no child to another":  "syscall(56, 0x8011, 0, 0, 0, 0)", // to the server, which would have it for ever
		"no processor":         "syscall(203, getppid(), 8, $m)",
		"no scheduler":         "syscall(144, getppid(), 0, $z)",
		"no priority":          "syscall(141, 0, getppid(), 1)",
		"not of a user":        "syscall(141, 2, 0, 0)",
		"no priority of disks": "syscall(251, 1, getppid(), 16388)",
		"no attribute":         "syscall(188, $f, $n, $v, 1, 0)",
		"no queue of POSIX":    "syscall(240, $n, 0102, 0600, 0)",
		"no ring":              "syscall(425, 1, $b)", // whose requests pass no filter
		"no other namespace":   "syscall(308, 0, 0)",
		"no new root":          "syscall(165, $v, $f, $v, 0, 0)",
		"no BPF":               "syscall(321, 0, $b, 48)",
		"no page faults":       "syscall(323, 1)",
		"no handle of a file":  "syscall(304, -100, $b, 0)",
		"no memory of another": `do { $l = pack("QQ", unpack("Q", pack("p", $b)), 8); $o = pack("QQ", 4096, 8); ` +
			`syscall(310, $p, $l, 1, $o, 1, 0); $!{EPERM} ? -1 : 0 }`,
		"no tracing": "syscall(101, 16, $p, 0, 0)",
	} {
		if runtime.GOARCH != "amd64" { // whose numbers these are
			break
		}
		t.Run(name, func(t *testing.T) {
			script := fmt.Sprintf(`perl -e '$f = "$ENV{TMPDIR}/x"; $u = "user"; $n = "user.x"; $v = "v"; $m = pack("Q", ~0); $z = pack("i", 0); $b = "\0" x 256; $p = %d; open(F, ">", $f) or die; print %s < 0 ? "refused" : "done"'`, os.Getpid(), strings.ReplaceAll(call, "'", `'\''`))
			if got := runScript(t, script, ""); got != "refused" {
				t.Errorf("%q", got)
			}
		})
	}
	if got := runScript(t, `echo $(($(nice -n 3 nice) - $(nice)))`, ""); got != "3\n" { // the tests may run with a lower priority already
		t.Errorf("what is ordinary: %q", got)
	}
}

// ignoredSignals returns the line of /proc/self/status with the signals that this process ignores; its children inherit
// them.
func ignoredSignals(t *testing.T) string {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "SigIgn:") {
			return strings.ReplaceAll(line, "\t", "")
		}
	}
	t.Fatal("the kernel does not say which signals are ignored")
	return ""
}

func TestNoProcessOutlivesItsCall(t *testing.T) {
	leave := `use POSIX;
if (!fork) {
  if (POSIX::setsid() > 0) { print "left the session" } else { setpgrp(0, 0) }
  if (!fork) {
    open(F, ">", "pid.new"); print F "$$\n"; close(F);
    rename("pid.new", "pid");
    close(STDIN); close(STDOUT); close(STDERR);
    sleep 1000;
  }
  POSIX::_exit(0);
}
`
	t.Run("that ends", func(t *testing.T) {
		b := adaptertest.Bind(t, newTool(fmt.Sprintf("command = [\"perl\", \"-e\", %q]", leave+"select(undef, undef, undef, 0.01) until -e 'pid';")+writableDir))
		out, err := b.Do(t.Context(), `{}`)
		if err != nil || out["stdout"] != "" {
			t.Errorf("%v, %v", out, err)
		}
		awaitExit(t, awaitPID(t, filepath.Join(b.Dir, "pid")))
	})
	t.Run("that is cancelled", func(t *testing.T) {
		pid, _ := cancelCall(t, fmt.Sprintf("command = [\"perl\", \"-e\", %q]", leave+"sleep 1000;"))
		awaitExit(t, pid)
	})
}

func TestSandboxMistakes(t *testing.T) {
	for sandbox, want := range map[string]string{
		`sandbox { mode = "off" }`:                      `mode must be "none" or omitted, not "off". If it is omitted, programs are confined.`,
		"sandbox {\nmode = \"none\"\nnetwork = true\n}": `mode = "none" turns the sandbox off`,
		`sandbox { memory = 256 }`:                      `memory must be a size such as "256MiB". With 256 bytes no program can start.`,
		`sandbox { files = 2048 }`:                      `"files" was renamed to "open_files". Write open_files = ….`,
		`sandbox { open_files = 2 }`:                    `open_files must be from 3 to 1048576, not 2.`,
		`sandbox { processes = 0 }`:                     `processes must be from 1 to 1048576, not 0.`,
		`sandbox { read = ["~/.kube"] }`:                `"~/.kube" is not a path.`,
		`sandbox { write = ["out/*"] }`:                 `"out/*" is not a path.`,
		`sandbox { write = ["out"] }`:                   `The file or directory "out" does not exist, or the server cannot open it. Create it first`,
		`sandbox { read = ["/not/there"] }`:             `The file or directory "/not/there" does not exist, or the server cannot open it. Correct the path`,
		`sandbox { read = [input.s] }`:                  `input`,
	} {
		if got := adaptertest.MustReject(t, newTool("command = [\"ls\"]\n"+sandbox)); !strings.Contains(got, want) {
			t.Errorf("%s:\n%s", sandbox, got)
		}
		if got := adaptertest.MustReject(t, newToolWithConnection("connection \"shell\" \"c\" {\n"+sandbox+"\n}\n", `"c"`, `command = ["ls"]`)); !strings.Contains(got, want) && want != "input" {
			t.Errorf("connection, %s:\n%s", sandbox, got)
		}
	}
}

func TestSandboxOfBlockReplacesThatOfConnection(t *testing.T) {
	outside := t.TempDir()
	declared := fmt.Sprintf("connection \"shell\" \"c\" {\n  sandbox { write = [%q] }\n}\n", outside)
	for block, want := range map[string]string{"": "yes\n", "\nsandbox {}": "no\n", unconfined: "yes\n"} {
		b := adaptertest.Bind(t, newToolWithConnection(declared, `"c"`, fmt.Sprintf("script = %q%s", "if (echo x > "+outside+"/x) 2>/dev/null; then echo yes; else echo no; fi", block)))
		if out, err := b.Do(t.Context(), `{}`); err != nil || out["stdout"] != want {
			t.Errorf("%s: %v, %v", block, out, err)
		}
	}
}
