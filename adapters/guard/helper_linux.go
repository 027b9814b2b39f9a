package guard

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hatchel/internal/procfs"
)

// The first arguments of helpers.
const (
	programsHelper = "hatchel-programs" // starts programs, and reports how they exit
	commandHelper  = "hatchel-command"  // runs a program, kills what the program has left behind, and exits like it
	sessionHelper  = "hatchel-sessions" // kills the processes of recorded sessions
)

// The descriptors of helpers.
const (
	programsFD = 3 // of programsHelper: a socket, which ends with the process that is guarded
	lifelineFD = 3 // of the others: ends with the process that is guarded
	sessionsFD = 4 // of sessionHelper
)

// executable is this program, also after its file was replaced.
const executable = "/proc/self/exe"

// A helper is this executable with another first argument. It takes over while packages are initialised, so
// that every program and every test that imports this package can be one, and so that it does not wait for
// other packages.
var _ = runHelper()

func runHelper() bool {
	switch {
	case len(os.Args) > 2 && os.Args[0] == commandHelper:
		runCommand(os.Args[1], os.Args[2:])
	case len(os.Args) > 0 && os.Args[0] == programsHelper:
		runPrograms()
	case len(os.Args) > 0 && os.Args[0] == sessionHelper:
		runSessions()
	}
	return false
}

// lifeline is a pipe that nobody writes to. Its writer is open as long as this process lives.
var lifeline = sync.OnceValues(func() (reader *os.File, err error) {
	var ends [2]int // not files, which a collection of garbage would close
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("pipe2", err)
	}
	return os.NewFile(uintptr(ends[0]), "lifeline"), nil
})

// startHelper starts a helper that has no streams, with a descriptor of each file.
func startHelper(name string, files ...*os.File) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	helper, err := os.StartProcess(executable, []string{name}, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: append([]*os.File{null, null, null}, files...),
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return err
	}
	go func() { _, _ = helper.Wait() }()
	return nil
}

// killSignal asks a commandHelper to kill the command and what comes of it.
const killSignal = unix.SIGTERM

// runCommand runs a command and guards the processes that come of it. Helpers exit by unix.Exit, because os.Exit waits
// for a second in programs that the race detector instruments.
func runCommand(file string, argv []string) {
	signals := make(chan os.Signal, 16) // not ignored, which the program would inherit
	signal.Notify(signals, killSignal, unix.SIGINT, unix.SIGHUP, unix.SIGPIPE)
	unix.CloseOnExec(lifelineFD)
	err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	var p *os.Process
	if err == nil {
		p, err = os.StartProcess(file, argv, &os.ProcAttr{
			Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
			Sys: &syscall.SysProcAttr{Setsid: true},
		})
	}
	if err != nil {
		unix.Exit(126)
	}
	for fd := range 3 { // only the program keeps the streams open
		if null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
			_ = unix.Dup3(null, fd, 0)
			unix.Close(null)
		}
	}
	ended := make(chan struct{})
	go func() {
		var end [1]byte
		_, _ = os.NewFile(lifelineFD, "lifeline").Read(end[:])
		close(ended)
	}()
	exited := make(chan unix.WaitStatus, 1)
	go func() { exited <- awaitExit(p.Pid) }()
	for {
		select {
		case <-ended:
			killDescendants()
			unix.Exit(0)
		case s := <-signals:
			if s == killSignal {
				killDescendants()
				unix.Exit(1)
			}
		case result := <-exited:
			killDescendants()
			exitLike(result)
		}
	}
}

// awaitExit waits until a child has exited, and leaves it a zombie, so that its ID is not reused.
func awaitExit(pid int) unix.WaitStatus {
	var info struct {
		signo, errno, code int32
		_                  int32
		pid                int32
		uid                uint32
		status             int32
		_                  [100]byte
	}
	for {
		_, _, errno := unix.Syscall6(unix.SYS_WAITID, unix.P_PID, uintptr(pid), uintptr(unsafe.Pointer(&info)),
			unix.WEXITED|unix.WNOWAIT, 0, 0)
		if errno != unix.EINTR {
			break
		}
	}
	const exitedNormally = 1 // CLD_EXITED
	if info.code == exitedNormally {
		return unix.WaitStatus(info.status << 8)
	}
	return unix.WaitStatus(info.status)
}

// exitLike exits as a program did.
func exitLike(s unix.WaitStatus) {
	if s.Signaled() {
		signal.Reset()
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
		_ = unix.Kill(os.Getpid(), s.Signal())
		time.Sleep(time.Second)
	}
	unix.Exit(s.ExitStatus())
}

// killInterval is the pause between two passes over the processes that are to be killed.
const killInterval = 2 * time.Millisecond

// killDescendants kills all processes that come of this one, and waits until they are gone. When the parent
// of a process ends, the process becomes a child of this one.
func killDescendants() {
	for {
		for _, pid := range descendants() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if err == unix.ECHILD {
				return
			}
			if pid <= 0 && err != unix.EINTR {
				break
			}
		}
		time.Sleep(killInterval)
	}
}

// descendants returns the processes that come of this one.
func descendants() (found []int) {
	children := map[int][]int{}
	for _, pid := range procfs.Processes() {
		if parent, ok := parentOf(pid); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	for next := children[os.Getpid()]; len(next) > 0; next = next[1:] {
		found = append(found, next[0])
		next = append(next, children[next[0]]...)
	}
	return found
}

// parentOf reads the parent of a process that is no zombie from its stat, see proc_pid_stat(5).
func parentOf(pid int) (int, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 2 || fields[0] == "Z" || fields[0] == "X" {
		return 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return parent, err == nil
}
