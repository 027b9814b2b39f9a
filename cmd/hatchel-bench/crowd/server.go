package crowd

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
	"sync"
	"syscall"
	"time"
)

// server is the program serving a folder over HTTP.
type server struct {
	host  string // and port
	cmd   *exec.Cmd
	log   string        // the file that what it writes on standard error is kept in
	ended chan struct{} // closed when standard error has ended
}

var readyLine = regexp.MustCompile(` at http://([^/\s]+)/mcp`)

// start serves a folder on a free port. What the server keeps between its lives lies in a folder beside it.
func start(ctx context.Context, binary, folder, log string) (*server, error) {
	s := &server{log: log, ended: make(chan struct{})}
	s.cmd = program(ctx, binary, folder, "serve", folder, "--listen", "127.0.0.1:0")
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	journal, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		journal.Close()
		return nil, err
	}
	ready := make(chan string, 1)
	go func() {
		defer close(s.ended)
		defer journal.Close()
		lines := bufio.NewReader(stderr)
		for {
			line, err := lines.ReadBytes('\n')
			journal.Write(line)
			if m := readyLine.FindSubmatch(line); m != nil {
				select {
				case ready <- string(m[1]):
				default:
				}
			}
			if err != nil {
				return
			}
		}
	}()
	select {
	case s.host = <-ready:
		return s, nil
	case <-s.ended:
	case <-time.After(patience):
	}
	s.cmd.Process.Kill()
	<-s.ended
	s.cmd.Wait()
	return nil, fmt.Errorf("the server did not start: %s", s.lastWords())
}

// program is the binary with nothing of this machine's but the way to its programs.
func program(ctx context.Context, binary, folder string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = folder
	home := filepath.Dir(folder)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir(), "XDG_STATE_HOME=" + filepath.Join(home, "state"),
		"GORACE=halt_on_error=0 atexit_sleep_ms=0"}
	return cmd
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// collected has the server load its folder again, after which it gives back the memory that it does not use, and again, because what is pooled is
// given up only by the second collection. It returns what the server holds then: no more than before, or else what it holds when the time is up.
func (s *server) collected(ctx context.Context, before Holdings, within time.Duration) (Holdings, error) {
	for range 2 {
		res, err := http.Post("http://"+s.host+"/admin/reload", "", nil)
		if err != nil {
			return Holdings{}, err
		}
		res.Body.Close()
		http.DefaultClient.CloseIdleConnections()
		if err := pause(ctx, time.Second); err != nil {
			return Holdings{}, err
		}
	}
	return settle(ctx, s.pid(), before, within)
}

// stop ends the server in good order, which it must do within a while and with status 0.
func (s *server) stop() error {
	s.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(patience, func() { s.cmd.Process.Kill() })
	defer late.Stop()
	<-s.ended
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("the server ended with %v: %s", err, s.lastWords())
	}
	return nil
}

var stack = regexp.MustCompile(`(?m)^goroutine \d+ `)

// count ends the server the way that has it tell what its goroutines do, and returns how many there are.
func (s *server) count() (goroutines int, err error) {
	before, err := os.Stat(s.log)
	if err != nil {
		return 0, err
	}
	s.cmd.Process.Signal(syscall.SIGQUIT)
	late := time.AfterFunc(patience, func() { s.cmd.Process.Kill() })
	defer late.Stop()
	<-s.ended
	s.cmd.Wait()
	said, err := os.ReadFile(s.log)
	if err != nil {
		return 0, err
	}
	if goroutines = len(stack.FindAll(said[before.Size():], -1)); goroutines == 0 {
		return 0, fmt.Errorf("the server did not tell what it was doing: %s", s.lastWords())
	}
	return goroutines, nil
}

// lastWords are the end of what the server has written.
func (s *server) lastWords() string {
	said, _ := os.ReadFile(s.log)
	return string(said[max(0, len(said)-2000):])
}

// alarming is what no log of a healthy server has.
var alarming = regexp.MustCompile(`WARNING: DATA RACE|^panic: |^fatal error: |panic: |level=ERROR`)

// expected is an alarm that is none: authors make mistakes here.
var expected = regexp.MustCompile(`reload failed; the last good configuration is served on`)

// alarms are the lines of a log that must not be there, each with what follows it.
func alarms(log string) (found []string, err error) {
	f, err := os.Open(log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	rest := 0
	for lines.Scan() {
		line := lines.Bytes()
		switch {
		case rest == 0 && alarming.Match(line) && !expected.Match(line):
			found = append(found, string(bytes.TrimSpace(line)))
			if rest = 40; bytes.Contains(line, []byte("level=ERROR")) {
				rest = 0
			}
		case rest > 0:
			found[len(found)-1] += "\n" + string(line)
			rest--
		}
	}
	return found, lines.Err()
}

// Build builds the program from this module into a folder, with the race detector if that is wanted, and returns its path.
func Build(ctx context.Context, folder string, race bool) (binary string, err error) {
	binary = filepath.Join(folder, "hatchel")
	args := []string{"build", "-o", binary}
	if race {
		args = append(args, "-race")
	}
	if out, err := exec.CommandContext(ctx, "go", append(args, "hatchel/cmd/hatchel")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("building hatchel: %w\n%s", err, out)
	}
	return binary, nil
}

// faults collects what went wrong, from many goroutines. The first of each kind are kept in full.
type faults struct {
	mu   sync.Mutex
	seen map[string]int // guarded by mu
	kept []string       // guarded by mu
}

// add reports a fault of a kind.
func (f *faults) add(kind, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == nil {
		f.seen = make(map[string]int)
	}
	if f.seen[kind]++; f.seen[kind] <= 3 {
		f.kept = append(f.kept, kind+": "+fmt.Sprintf(format, args...))
	}
}

// all are the faults, with how many more there were of each kind.
func (f *faults) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	said := append([]string(nil), f.kept...)
	for kind, n := range f.seen {
		if n > 3 {
			said = append(said, fmt.Sprintf("%s: %d times in all", kind, n))
		}
	}
	return said
}
