// Package process starts servers under test and observes them from outside: by their log, by their
// admin endpoint, and by what the operating system accounts to them.
package process

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const startTimeout = time.Minute

// Process is a running server.
type Process struct {
	Host   string         // host:port of its HTTP endpoint; empty for a server on stdio
	Stdin  io.WriteCloser // closed by Stop
	Stdout io.Reader      // of a server on stdio
	cmd    *exec.Cmd
	log    *logFile
	exited chan struct{}
	err    error // of its exit; set before exited is closed
}

// logFile receives the standard error of a server, and finds in it where the server listens.
type logFile struct {
	file      *os.File
	listening chan string // receives the first address
	head      []byte      // everything up to the address
}

var listenLine = regexp.MustCompile(` at http://([^/\s]+)/mcp`)

func (l *logFile) Write(b []byte) (int, error) {
	if l.listening != nil {
		l.head = append(l.head, b...)
		if m := listenLine.FindSubmatch(l.head); m != nil {
			l.listening <- string(m[1])
			l.listening, l.head = nil, nil
		}
	}
	return l.file.Write(b)
}

// Start starts a server that speaks JSON-RPC on its standard input and output, or HTTP; then it
// waits until the log says where the server listens. The log is appended to the named file.
func Start(cmd *exec.Cmd, log string, stdio bool) (*Process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	listening := make(chan string, 1)
	p := &Process{cmd: cmd, log: &logFile{file: file, listening: listening}, exited: make(chan struct{})}
	cmd.Stderr = p.log
	p.Stdin, err = cmd.StdinPipe()
	if err == nil && stdio {
		p.Stdout, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	go func() {
		p.err = cmd.Wait()
		file.Close()
		close(p.exited)
	}()
	if stdio {
		return p, nil
	}
	select {
	case p.Host = <-listening:
		return p, nil
	case <-p.exited:
	case <-time.After(startTimeout):
	}
	p.Stop(os.Kill, startTimeout)
	return nil, fmt.Errorf("%s did not start: %s", filepath.Base(cmd.Path), p.LogTail())
}

// PID returns the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop closes standard input, sends the signal, and kills the process after the timeout. It returns
// an error unless the process exited with status 0.
func (p *Process) Stop(signal os.Signal, timeout time.Duration) error {
	p.Stdin.Close()
	p.cmd.Process.Signal(signal)
	kill := time.AfterFunc(timeout, p.Kill)
	defer kill.Stop()
	if <-p.exited; p.err != nil {
		return fmt.Errorf("the server exited with %w: %s", p.err, p.LogTail())
	}
	return nil
}

// Kill ends the process without waiting for it.
func (p *Process) Kill() { p.cmd.Process.Kill() }

// LogTail returns the end of the log.
func (p *Process) LogTail() string {
	log, _ := os.ReadFile(p.log.file.Name())
	return string(log[max(0, len(log)-2000):])
}

// Reload posts to /admin/reload of hatchel and returns the status and the body of the answer.
func (p *Process) Reload() (status int, body []byte, err error) {
	res, err := http.Post("http://"+p.Host+"/admin/reload", "", nil)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, err
}

// Build builds hatchel from this module into a folder and returns the path of the binary.
func Build(ctx context.Context, folder string, race bool) (binary string, err error) {
	binary = filepath.Join(folder, "hatchel")
	cmd := exec.CommandContext(ctx, "go", "build", fmt.Sprintf("-race=%t", race), "-o", binary, "hatchel/cmd/hatchel")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building hatchel: %w\n%s", err, out)
	}
	return binary, nil
}

// clockTick is the unit of the times in /proc/PID/stat, which Linux fixes for programs at 100 a
// second.
const clockTick = 10 * time.Millisecond

// CPUTime returns the user and system time that the process has used so far, to the nanosecond,
// from its CPU clock.
func CPUTime(pid int) (time.Duration, error) {
	var t unix.Timespec
	// The number of the CPU clock of another process, as clock_getcpuclockid(3) makes it.
	if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil {
		return 0, fmt.Errorf("CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// ChildrenCPUTime returns the user and system time of the children that the process has waited for,
// in clock ticks.
func ChildrenCPUTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field, the program's name in parentheses, may hold spaces; cutime and cstime are
	// fields 16 and 17.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	ticks := 0
	for _, field := range fields[13:15] {
		n, err := strconv.Atoi(string(field))
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// Usage is what a process holds of the operating system.
type Usage struct {
	Memory    int // resident, in bytes
	Anonymous int // of that, not backed by files
	Files     int // open file descriptors
	Threads   int
}

// ReadUsage returns what a process holds now.
func ReadUsage(pid int) (u Usage, err error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	files, err := os.ReadDir(dir + "fd")
	if err != nil {
		return u, err
	}
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return u, err
	}
	u.Files = len(files)
	for line := range bytes.Lines(status) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "VmRSS":
			u.Memory, err = parseKilobytes(value)
		case "RssAnon":
			u.Anonymous, err = parseKilobytes(value)
		case "Threads":
			u.Threads, err = strconv.Atoi(string(bytes.TrimSpace(value)))
		}
		if err != nil {
			return u, err
		}
	}
	return u, nil
}

// parseKilobytes reads a size of /proc/PID/status and returns it in bytes.
func parseKilobytes(value []byte) (int, error) {
	n, err := strconv.Atoi(string(bytes.Fields(value)[0]))
	return n << 10, err
}

// String shows the usage in MiB, files and threads.
func (u Usage) String() string {
	return fmt.Sprintf("%.1f MiB, %d files, %d threads", float64(u.Memory)/(1<<20), u.Files, u.Threads)
}

var goroutineHeader = regexp.MustCompile(`(?m)^goroutine \d+ `)

// StopCounting ends a Go program with SIGQUIT, which dumps its goroutines, and returns their
// number.
func (p *Process) StopCounting() (goroutines int, err error) {
	before, err := p.log.file.Stat()
	if err != nil {
		return 0, err
	}
	p.Stop(syscall.SIGQUIT, startTimeout)
	log, err := os.ReadFile(p.log.file.Name())
	if err != nil {
		return 0, err
	}
	if goroutines = len(goroutineHeader.FindAll(log[before.Size():], -1)); goroutines == 0 {
		return 0, fmt.Errorf("the server dumped no goroutines: %s", p.LogTail())
	}
	return goroutines, nil
}
