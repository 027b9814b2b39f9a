package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"io"
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
)

var update = flag.Bool("update", false, "rewrite what the scripts compare with")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"hatchel": main})
}

// A script is a person's shell session. Beside what testscript knows there are
//
//	exits CODE COMMAND...         runs a command that must exit with CODE
//	serve ARGUMENTS...            starts `hatchel serve` on a free port and waits for its ready line; $URL is where it is
//	signal NAME                   sends a signal to it
//	ends CODE                     waits until it has ended with CODE; what it said is in the file log
//	until PATTERN METHOD PATH [BODY]
//	                              asks until the answer matches
//	ask STATUS METHOD PATH [BODY] asks once; the answer is in the file answer
//	begin METHOD PATH BODY        asks without waiting
//	begun STATUS                  waits for that answer, which is in the file answer then
//	appears FILE                  waits until there is such a file
//	take NAME PATTERN             sets $NAME to what the group of the pattern matches in the file answer
//	gone FILE                     waits until the process whose number is in the file has ended
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			s := &session{}
			env.Values["session"] = s
			env.Defer(s.kill)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "serve": serve, "signal": sendSignal, "ends": ends, "until": until, "ask": ask,
			"begin": begin, "begun": begun, "appears": appears, "gone": gone, "take": take,
		},
	})
}

// session is the server that a script has started.
type session struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when stderr has
	url   string
	begun chan reply // of the request that was begun

	mu  sync.Mutex
	log []string // guarded by mu
}

func sessionOf(ts *testscript.TestScript) *session { return ts.Value("session").(*session) }

func (s *session) kill() {
	if s.cmd != nil {
		s.cmd.Process.Kill()
		<-s.ended
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

// reply is what a request came to.
type reply struct {
	status int
	body   string
	err    error
}

var readyLine = regexp.MustCompile(`hatchel: serving .* at (http://[0-9.:]+)/mcp`)

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
	s.ended = make(chan struct{})
	go func() {
		defer close(s.ended)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			s.mu.Lock()
			s.log = append(s.log, lines.Text())
			s.mu.Unlock()
			if m := readyLine.FindStringSubmatch(lines.Text()); m != nil {
				ready <- m[1]
			}
		}
	}()
	select {
	case s.url = <-ready:
		ts.Setenv("URL", s.url)
	case <-s.ended:
		ts.Fatalf("the server ended: %s", strings.Join(s.log, "\n"))
	case <-time.After(patience):
		ts.Fatalf("the server is not ready")
	}
}

func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]os.Signal{"KILL": syscall.SIGKILL, "HUP": syscall.SIGHUP, "TERM": syscall.SIGTERM, "INT": syscall.SIGINT}
	ts.Check(sessionOf(ts).cmd.Process.Signal(signals[args[0]]))
}

func ends(ts *testscript.TestScript, neg bool, args []string) {
	s := sessionOf(ts)
	select {
	case <-s.ended:
	case <-time.After(patience):
		ts.Fatalf("the server does not end")
	}
	s.cmd.Wait()
	if code := strconv.Itoa(s.cmd.ProcessState.ExitCode()); code != args[0] {
		ts.Fatalf("the server ended with %s", code)
	}
	s.cmd = nil
	ts.Check(os.WriteFile(ts.MkAbs("log"), []byte(strings.Join(s.log, "\n")+"\n"), 0o644))
}

func until(ts *testscript.TestScript, neg bool, args []string) {
	pattern := regexp.MustCompile(args[0])
	body := ""
	eventually(ts, func() bool {
		_, body = request(ts, args[1], args[2], strings.Join(args[3:], ""))
		return pattern.MatchString(body)
	}, func() string { return "the answer does not match: " + body })
}

// patience is how long anything that has to happen may take on a busy machine.
const patience = time.Minute

// eventually asks again and again until something is so.
func eventually(ts *testscript.TestScript, so func() bool, otherwise func() string) {
	limit, tick := time.After(patience), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-limit:
			ts.Fatalf("%s", otherwise())
		}
	}
}

func appears(ts *testscript.TestScript, neg bool, args []string) {
	eventually(ts, func() bool {
		_, err := os.Stat(ts.MkAbs(args[0]))
		return err == nil
	}, func() string { return "there is no " + args[0] })
}

func take(ts *testscript.TestScript, neg bool, args []string) {
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("answer"))
	if len(found) < 2 {
		ts.Fatalf("nothing matches in %s", ts.ReadFile("answer"))
	}
	ts.Setenv(args[0], found[1])
}

func gone(ts *testscript.TestScript, neg bool, args []string) {
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	eventually(ts, func() bool { return !running(pid) }, func() string { return "the process is still there" })
}

// running reports whether a process is there and no zombie: where nobody takes over orphans, those stay.
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

func begin(ts *testscript.TestScript, neg bool, args []string) {
	s := sessionOf(ts)
	s.begun = make(chan reply, 1)
	r := newRequest(ts, args[0], args[1], args[2])
	go func() { s.begun <- send(r) }()
}

func begun(ts *testscript.TestScript, neg bool, args []string) {
	got := <-sessionOf(ts).begun
	ts.Check(got.err)
	ts.Check(os.WriteFile(ts.MkAbs("answer"), []byte(got.body), 0o644))
	if strconv.Itoa(got.status) != args[0] {
		ts.Fatalf("status %d: %s", got.status, got.body)
	}
}

func ask(ts *testscript.TestScript, neg bool, args []string) {
	body := ""
	if len(args) > 3 {
		body = args[3]
	}
	status, answer := request(ts, args[1], args[2], body)
	ts.Check(os.WriteFile(ts.MkAbs("answer"), []byte(answer), 0o644))
	if want := args[0]; strconv.Itoa(status) != want {
		ts.Fatalf("status %d: %s", status, answer)
	}
}

func request(ts *testscript.TestScript, method, path, body string) (int, string) {
	got := send(newRequest(ts, method, path, body))
	ts.Check(got.err)
	return got.status, got.body
}

func newRequest(ts *testscript.TestScript, method, path, body string) *http.Request {
	r, err := http.NewRequest(method, sessionOf(ts).url+path, strings.NewReader(body))
	ts.Check(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
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

func send(r *http.Request) reply {
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return reply{err: err}
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, string(answer), err}
}
