package soak

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

// server is a hatchel process that serves a folder over HTTP.
type server struct {
	host   string // host:port
	cmd    *exec.Cmd
	log    string        // file that receives its standard error
	exited chan struct{} // closed at the end of standard error
}

var listenLine = regexp.MustCompile(` at http://([^/\s]+)/mcp`)

// startServer serves folder on a free port and waits until it listens. State is kept beside the
// folder.
func startServer(ctx context.Context, binary, folder, log string) (*server, error) {
	s := &server{log: log, exited: make(chan struct{})}
	s.cmd = command(ctx, binary, folder, "serve", folder, "--listen", "127.0.0.1:0")
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		file.Close()
		return nil, err
	}
	address := make(chan string, 1)
	go func() {
		defer close(s.exited)
		defer file.Close()
		lines := bufio.NewReader(stderr)
		for {
			line, err := lines.ReadBytes('\n')
			file.Write(line)
			if m := listenLine.FindSubmatch(line); m != nil {
				select {
				case address <- string(m[1]):
				default:
				}
			}
			if err != nil {
				return
			}
		}
	}()
	select {
	case s.host = <-address:
		return s, nil
	case <-s.exited:
	case <-time.After(stepTimeout):
	}
	s.cmd.Process.Kill()
	<-s.exited
	s.cmd.Wait()
	return nil, fmt.Errorf("the server did not start: %s", s.logTail())
}

// command runs the binary with an environment that holds only what it needs.
func command(ctx context.Context, binary, folder string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = folder
	home := filepath.Dir(folder)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir(),
		"XDG_STATE_HOME=" + filepath.Join(home, "state"), "GORACE=halt_on_error=0 atexit_sleep_ms=0",
	}
	return cmd
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// reload posts to /admin/reload and fails unless the answer has the status.
func (s *server) reload(ctx context.Context, status int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.host+"/admin/reload", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var body [2000]byte
	n, _ := res.Body.Read(body[:])
	if res.StatusCode != status {
		return fmt.Errorf("reload answered %s, want %d: %s", res.Status, status, body[:n])
	}
	return nil
}

// idleUsage reloads the folder twice, which makes the server return unused memory, and waits until
// its usage is within limit or the timeout has passed. It returns the last usage that was seen.
func (s *server) idleUsage(ctx context.Context, limit Usage, timeout time.Duration) (Usage, error) {
	for range 2 {
		if err := s.reload(ctx, http.StatusOK); err != nil {
			return Usage{}, err
		}
		http.DefaultClient.CloseIdleConnections()
		if err := sleep(ctx, time.Second); err != nil {
			return Usage{}, err
		}
	}
	for deadline := time.Now().Add(timeout); ; {
		now, err := readUsage(s.pid())
		if err != nil || now.within(limit) || time.Now().After(deadline) {
			return now, err
		}
		if err := sleep(ctx, 500*time.Millisecond); err != nil {
			return now, err
		}
	}
}

// stop sends SIGTERM and fails unless the server exits with status 0 in time.
func (s *server) stop() error {
	if err := s.signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("the server exited with %w: %s", err, s.logTail())
	}
	return nil
}

func (s *server) signal(signal os.Signal) error {
	s.cmd.Process.Signal(signal)
	kill := time.AfterFunc(stepTimeout, func() { s.cmd.Process.Kill() })
	defer kill.Stop()
	<-s.exited
	return s.cmd.Wait()
}

var goroutineHeader = regexp.MustCompile(`(?m)^goroutine \d+ `)

// stopCounting ends the server with SIGQUIT, which dumps its goroutines, and returns their number.
func (s *server) stopCounting() (goroutines int, err error) {
	before, err := os.Stat(s.log)
	if err != nil {
		return 0, err
	}
	s.signal(syscall.SIGQUIT)
	log, err := os.ReadFile(s.log)
	if err != nil {
		return 0, err
	}
	if goroutines = len(goroutineHeader.FindAll(log[before.Size():], -1)); goroutines == 0 {
		return 0, fmt.Errorf("the server dumped no goroutines: %s", s.logTail())
	}
	return goroutines, nil
}

func (s *server) logTail() string {
	log, _ := os.ReadFile(s.log)
	return string(log[max(0, len(log)-2000):])
}

var (
	// alarm matches lines that the log of a healthy server does not have.
	alarm = regexp.MustCompile(`WARNING: DATA RACE|^panic: |^fatal error: |panic: |level=ERROR`)
	// authorMistake matches the alarm that edits with a mistake cause on purpose.
	authorMistake = regexp.MustCompile(`msg="(reload failed|configuration rejected)`)
)

// findAlarms returns the alarms of a log, races and panics with the 40 lines that follow them.
func findAlarms(log string) (found []string, err error) {
	f, err := os.Open(log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	following := 0
	for lines.Scan() {
		line := lines.Bytes()
		switch {
		case following > 0:
			found[len(found)-1] += "\n" + string(line)
			following--
		case alarm.Match(line) && !authorMistake.Match(line):
			found = append(found, string(bytes.TrimSpace(line)))
			if !bytes.Contains(line, []byte("level=ERROR")) {
				following = 40
			}
		}
	}
	return found, lines.Err()
}

// Build builds the program from this module into a folder and returns its path.
func Build(ctx context.Context, folder string, race bool) (binary string, err error) {
	binary = filepath.Join(folder, "hatchel")
	args := []string{"build", "-o", binary}
	if race {
		args = append(args, "-race")
	}
	out, err := exec.CommandContext(ctx, "go", append(args, "hatchel/cmd/hatchel")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building hatchel: %w\n%s", err, out)
	}
	return binary, nil
}

// Usage is what a process holds of the operating system.
type Usage struct {
	Memory  int // resident, in bytes
	Files   int // open file descriptors
	Threads int
}

// usageSlack is how far usage may rise above an earlier one: pooled connections and threads, and
// memory that was not collected yet. A leak of one goroutine or file per client or call is far
// more.
var usageSlack = Usage{Memory: 24 << 20, Files: 50, Threads: 50}

// String shows the usage in MiB, files and threads.
func (u Usage) String() string {
	return fmt.Sprintf("%.1f MiB, %d files, %d threads", float64(u.Memory)/(1<<20), u.Files, u.Threads)
}

// within reports whether u exceeds limit by no more than the slack and a quarter of the memory.
func (u Usage) within(limit Usage) bool {
	return u.Memory <= limit.Memory+limit.Memory/4+usageSlack.Memory &&
		u.Files <= limit.Files+usageSlack.Files && u.Threads <= limit.Threads+usageSlack.Threads
}

func readUsage(pid int) (u Usage, err error) {
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
			u.Memory, err = strconv.Atoi(string(bytes.Fields(value)[0]))
			u.Memory <<= 10
		case "Threads":
			u.Threads, err = strconv.Atoi(string(bytes.TrimSpace(value)))
		}
		if err != nil {
			return u, err
		}
	}
	return u, nil
}

// sleep waits for d, or returns the cause when ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
