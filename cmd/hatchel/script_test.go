package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hatchel/internal/programtest"
	"hatchel/internal/sqlitefile"
)

var update = flag.Bool("update", false, "rewrite the expected output of the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"hatchel": main})
}

// A script is a shell session. Besides the commands of testscript there are
//
//	exits CODE COMMAND...         runs a command that must exit with CODE
//	serve ARGUMENTS...            starts `hatchel serve` on a free port and sets $URL
//	signal NAME                   sends a signal to the server
//	await-exit CODE               waits until the server exits with CODE; the file log has its output
//	request STATUS METHOD PATH [BODY]
//	                              makes a request; the file response has the body
//	request-until PATTERN METHOD PATH [BODY]
//	                              repeats a request until the response matches
//	start-request METHOD PATH BODY
//	                              makes a request in the background
//	await-response STATUS         waits for its response, in the file response
//	await-file FILE               waits until a file exists
//	capture NAME PATTERN          sets $NAME to the group of the pattern in the file response
//	await-process-exit FILE       waits until the process with the number in a file has ended
//
// and the condition sqlite, of a program with SQLite.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Condition: func(name string) (bool, error) {
			if name != "sqlite" {
				return false, errors.New("unknown condition")
			}
			return sqlitefile.Included, nil
		},
		Setup: func(env *testscript.Env) error {
			s := &session{}
			env.Values["session"] = s
			env.Defer(s.kill)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "serve": serve, "signal": sendSignal, "await-exit": awaitExit, "request": makeRequest,
			"request-until": requestUntil, "start-request": startRequest, "await-response": awaitResponse,
			"await-file": awaitFile, "await-process-exit": awaitProcessExit, "capture": capture,
		},
	})
}

// session is the server of a script.
type session struct {
	cmd          *exec.Cmd
	stderrClosed chan struct{} // closed when stderr has
	url          string
	pending      chan programtest.Reply // of the request that was begun

	mu  sync.Mutex
	log []string // guarded by mu
}

func sessionOf(ts *testscript.TestScript) *session { return ts.Value("session").(*session) }

func (s *session) kill() {
	if s.cmd != nil {
		s.cmd.Process.Kill()
		<-s.stderrClosed
		s.cmd.Wait()
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

func serve(ts *testscript.TestScript, neg bool, args []string) {
	s := sessionOf(ts)
	hatchel, err := exec.LookPath(filepath.Join(strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator))[0], "hatchel"))
	ts.Check(err)
	s.cmd = exec.Command(hatchel, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	s.cmd.Dir = ts.MkAbs(".")
	s.cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME")}
	stderr, err := s.cmd.StderrPipe()
	ts.Check(err)
	ts.Check(s.cmd.Start())
	ready := make(chan string, 1)
	s.stderrClosed = make(chan struct{})
	go func() {
		defer close(s.stderrClosed)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			s.mu.Lock()
			s.log = append(s.log, lines.Text())
			s.mu.Unlock()
			if m := programtest.Ready.FindStringSubmatch(lines.Text()); m != nil {
				ready <- m[1]
			}
		}
	}()
	select {
	case s.url = <-ready:
		ts.Setenv("URL", s.url)
	case <-s.stderrClosed:
		ts.Fatalf("the server ended: %s", strings.Join(s.log, "\n"))
	case <-time.After(programtest.Timeout):
		ts.Fatalf("the server is not ready in time")
	}
}

func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]os.Signal{"KILL": syscall.SIGKILL, "USR1": syscall.SIGUSR1, "HUP": syscall.SIGHUP, "TERM": syscall.SIGTERM, "INT": syscall.SIGINT}
	ts.Check(sessionOf(ts).cmd.Process.Signal(signals[args[0]]))
}

func awaitExit(ts *testscript.TestScript, neg bool, args []string) {
	s := sessionOf(ts)
	http.DefaultClient.CloseIdleConnections() // for which the server would wait
	select {
	case <-s.stderrClosed:
	case <-time.After(programtest.Timeout):
		ts.Fatalf("the server does not exit in time")
	}
	s.cmd.Wait()
	if code := strconv.Itoa(s.cmd.ProcessState.ExitCode()); code != args[0] {
		ts.Fatalf("the server exited with %s", code)
	}
	s.cmd = nil
	ts.Check(os.WriteFile(ts.MkAbs("log"), []byte(strings.Join(s.log, "\n")+"\n"), 0o644))
}

func requestUntil(ts *testscript.TestScript, neg bool, args []string) {
	pattern := regexp.MustCompile(args[0])
	body := ""
	eventually(ts, func() bool {
		_, body = request(ts, args[1], args[2], strings.Join(args[3:], ""))
		return pattern.MatchString(body)
	}, func() string { return "the response does not match: " + body })
}

// eventually waits until a condition holds.
func eventually(ts *testscript.TestScript, condition func() bool, message func() string) {
	limit, tick := time.After(programtest.Timeout), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-limit:
			ts.Fatalf("%s", message())
		}
	}
}

func awaitFile(ts *testscript.TestScript, neg bool, args []string) {
	eventually(ts, func() bool {
		_, err := os.Stat(ts.MkAbs(args[0]))
		return err == nil
	}, func() string { return "no file " + args[0] })
}

func capture(ts *testscript.TestScript, neg bool, args []string) {
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("response"))
	if len(found) < 2 {
		ts.Fatalf("nothing matches in %s", ts.ReadFile("response"))
	}
	ts.Setenv(args[0], found[1])
}

func awaitProcessExit(ts *testscript.TestScript, neg bool, args []string) {
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	eventually(ts, func() bool { return !running(pid) }, func() string { return "the process is still running" })
}

// running reports whether a process exists and is no zombie, which stay where nobody reaps orphans.
func running(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true // it has just ended, or there is no /proc here
	}
	state := strings.TrimSpace(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

func startRequest(ts *testscript.TestScript, neg bool, args []string) {
	s := sessionOf(ts)
	s.pending = make(chan programtest.Reply, 1)
	r := newRequest(ts, args[0], args[1], args[2])
	go func() { s.pending <- programtest.Send(r) }()
}

func awaitResponse(ts *testscript.TestScript, neg bool, args []string) {
	got := <-sessionOf(ts).pending
	ts.Check(got.Err)
	ts.Check(os.WriteFile(ts.MkAbs("response"), []byte(got.Body), 0o644))
	if strconv.Itoa(got.Status) != args[0] {
		ts.Fatalf("status %d: %s", got.Status, got.Body)
	}
}

func makeRequest(ts *testscript.TestScript, neg bool, args []string) {
	body := ""
	if len(args) > 3 {
		body = args[3]
	}
	status, answer := request(ts, args[1], args[2], body)
	ts.Check(os.WriteFile(ts.MkAbs("response"), []byte(answer), 0o644))
	if want := args[0]; strconv.Itoa(status) != want {
		ts.Fatalf("status %d: %s", status, answer)
	}
}

func request(ts *testscript.TestScript, method, path, body string) (int, string) {
	got := programtest.Send(newRequest(ts, method, path, body))
	ts.Check(got.Err)
	return got.Status, got.Body
}

func newRequest(ts *testscript.TestScript, method, path, body string) *http.Request {
	r, err := http.NewRequest(method, sessionOf(ts).url+path, strings.NewReader(body))
	ts.Check(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream, text/plain")
	if strings.Contains(body, "2026-07-28") {
		var asked struct {
			Method string
			Params struct{ Name, URI, TaskID string }
		}
		ts.Check(json.Unmarshal([]byte(body), &asked))
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", asked.Method)
		r.Header.Set("Mcp-Name", asked.Params.Name+asked.Params.URI+asked.Params.TaskID)
	}
	if origin := ts.Getenv("ORIGIN"); origin != "" {
		r.Header.Set("Origin", origin)
	}
	return r
}
