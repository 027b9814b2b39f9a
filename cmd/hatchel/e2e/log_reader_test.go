package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hatchel/cmd/hatchel/exit"
	"hatchel/internal/programtest"
)

const logReaderConfig = `
telemetry {
  metrics {}
}
tool "t" {
  description = "Answer ok."
  text        = "t"
}
tool "sleep" {
  description = "Wait, whatever signal comes."
  shell { script = "trap '' TERM INT; while :; do sleep 60.MARK; done" }
}
`

// observed is a server whose standard streams the test holds.
type observed struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	pipe   *os.File // what out reads
	stderr *os.File // nil if it is no pipe
	url    string   // over HTTP
	dir    string
	mark   string // in the command line of what the tool sleep runs
	ended  chan error
}

// startObserved starts a server, and reads standard error until it is ready.
func startObserved(t *testing.T, flags ...string) *observed {
	t.Helper()
	s := launchObserved(t, nil, flags...)
	var said []byte
	for !bytes.HasSuffix(said, []byte("\n")) {
		b := make([]byte, 1) // no more than the line, so that the pipe can fill up
		if _, err := s.stderr.Read(b); err != nil {
			t.Fatalf("the server has ended: %s", said)
		}
		said = append(said, b...)
	}
	if m := programtest.Ready.FindSubmatch(said); m != nil {
		s.url = string(m[1])
	}
	return s
}

// launchObserved starts a server with this standard error; nil for a pipe.
func launchObserved(t *testing.T, stderr *os.File, flags ...string) *observed {
	t.Helper()
	s := &observed{dir: t.TempDir(), ended: make(chan error, 1), mark: strconv.FormatInt(time.Now().UnixNano(), 10)}
	s.configure(t, logReaderConfig)
	s.cmd = exec.Command("hatchel", append([]string{"serve", s.dir}, flags...)...)
	s.cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var failed error
	s.in, failed = s.cmd.StdinPipe()
	out, err := s.cmd.StdoutPipe()
	failed = errors.Join(failed, err)
	if stderr != nil {
		s.cmd.Stderr = stderr
	} else {
		said, err := s.cmd.StderrPipe()
		failed = errors.Join(failed, err)
		s.stderr, _ = said.(*os.File)
	}
	if failed == nil {
		failed = s.cmd.Start()
	}
	if failed != nil {
		t.Fatal(failed)
	}
	s.pipe = out.(*os.File)
	s.out = bufio.NewReader(s.pipe)
	t.Cleanup(func() { s.cmd.Process.Kill() })
	go func() {
		state, err := s.cmd.Process.Wait() // not cmd.Wait, which closes the pipes
		if err == nil && state.ExitCode() != 0 {
			err = &exec.ExitError{ProcessState: state}
		}
		s.ended <- err
	}()
	return s
}

func (s *observed) configure(t *testing.T, config string) {
	t.Helper()
	config = strings.ReplaceAll(config, "MARK", s.mark)
	if err := os.WriteFile(filepath.Join(s.dir, "t.hcl"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
}

// sleeps reports whether a program of the tool sleep runs.
func (s *observed) sleeps() bool {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(files, func(name string) bool {
		text, err := os.ReadFile(name)
		return err == nil && bytes.Contains(text, []byte("sleep\x0060."+s.mark))
	})
}

// startSleep calls the tool sleep, and waits until its program runs.
func (s *observed) startSleep(t *testing.T) {
	t.Helper()
	s.request(t, 1, "tools/call", `{"name":"sleep","arguments":{}}`)
	await(t, s.sleeps)
}

// awaitEnd waits for the end of the process, which must have this exit code.
func (s *observed) awaitEnd(t *testing.T, code int) {
	t.Helper()
	select {
	case err := <-s.ended:
		got := 0
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			got = failed.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if got != code {
			t.Errorf("exit code %d, want %d", got, code)
		}
	case <-time.After(programtest.Timeout):
		t.Fatal("the process does not end")
	}
}

func (s *observed) signal(t *testing.T, sig os.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// calls calls the tool t over HTTP.
func (s *observed) calls(t *testing.T, n int) {
	t.Helper()
	c := newProtocolClient(s.url, true)
	defer c.transport.CloseIdleConnections()
	for i := range n {
		if _, err := c.call("t"); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
}

// metric returns the value of a metric without labels, as it is printed.
func (s *observed) metric(t *testing.T, name string) string {
	t.Helper()
	res, err := http.Get(s.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return value
		}
	}
	t.Fatalf("there is no metric %s", name)
	return ""
}

func TestAStandardErrorThatNobodyReadsStopsNothing(t *testing.T) {
	t.Parallel()
	s := startObserved(t, "--listen", "127.0.0.1:0", "--log-level", "debug")
	s.calls(t, 4000)
	s.configure(t, strings.Replace(logReaderConfig, "Answer ok.", "Answer ok, again.", 1))
	await(t, func() bool { return s.metric(t, `hatchel_reloads_total{result="ok"}`) == "2" })
	if status, body := readyz(t, s.url); status != 200 {
		t.Errorf("readyz: %d %s", status, body)
	}
	if s.metric(t, "hatchel_log_lines_dropped_total") == "0" {
		t.Error("no line was dropped")
	}
	s.signal(t, syscall.SIGTERM)
	http.DefaultClient.CloseIdleConnections()
	s.awaitEnd(t, 0)
}

func TestLinesThatWereDroppedAreCountedInTheLogWhenItIsReadAgain(t *testing.T) {
	t.Parallel()
	s := startObserved(t, "--listen", "127.0.0.1:0", "--log-level", "debug")
	s.calls(t, 4000)
	lines := bufio.NewScanner(s.stderr)
	for lines.Scan() {
		if strings.Contains(lines.Text(), `msg="log lines dropped" count=`) {
			go io.Copy(io.Discard, s.stderr)
			s.signal(t, syscall.SIGTERM)
			s.awaitEnd(t, 0)
			return
		}
	}
	t.Error("no line says that others were dropped")
}

func TestAStandardErrorThatIsClosedStopsNothing(t *testing.T) {
	t.Parallel()
	s := startObserved(t, "--listen", "127.0.0.1:0")
	s.stderr.Close()
	s.calls(t, 20)
	await(t, func() bool { return s.metric(t, "hatchel_log_lines_dropped_total") != "0" })
	s.signal(t, syscall.SIGTERM)
	http.DefaultClient.CloseIdleConnections()
	s.awaitEnd(t, 0)
}

func TestAStandardErrorThatIsAFullDiskStopsNothing(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	address := freeAddress(t)
	s := launchObserved(t, full, "--listen", address, "--log-level", "debug")
	s.url = "http://" + address
	await(t, func() bool { return !isRefused(address) })
	s.calls(t, 100)
	s.configure(t, strings.Replace(logReaderConfig, "Answer ok.", "Answer ok, again.", 1))
	await(t, func() bool { return s.metric(t, `hatchel_reloads_total{result="ok"}`) == "2" })
	if s.metric(t, "hatchel_log_lines_dropped_total") == "0" {
		t.Error("no line was dropped")
	}
	s.signal(t, syscall.SIGTERM)
	http.DefaultClient.CloseIdleConnections()
	s.awaitEnd(t, 0)
}

// request sends a request over standard input.
func (s *observed) request(t *testing.T, id int, method, params string) {
	t.Helper()
	if _, err := fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params); err != nil {
		t.Fatal(err)
	}
}

func (s *observed) initialize(t *testing.T) {
	t.Helper()
	s.request(t, 0, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	s.awaitReply(t, 0)
	fmt.Fprintln(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (s *observed) awaitReply(t *testing.T, id int) {
	t.Helper()
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var reply struct{ ID *int }
		if err := json.Unmarshal(line, &reply); err != nil {
			t.Fatal(err)
		}
		if reply.ID != nil && *reply.ID == id {
			return
		}
	}
}

func TestOverStandardStreamsALogThatNobodyReadsStopsNothing(t *testing.T) {
	t.Parallel()
	for _, closed := range []bool{false, true} {
		t.Run(fmt.Sprintf("closed=%t", closed), func(t *testing.T) {
			s := startObserved(t, "--stdio", "--log-level", "debug")
			if closed {
				s.stderr.Close()
			}
			s.initialize(t)
			for id := 1; id <= 3000; id++ {
				s.request(t, id, "tools/call", `{"name":"t","arguments":{}}`)
				s.awaitReply(t, id)
			}
			s.in.Close()
			s.awaitEnd(t, 0)
		})
	}
}

func TestAStandardOutputThatIsClosedEndsTheServerInOrder(t *testing.T) {
	t.Parallel()
	s := startObserved(t, "--stdio")
	s.initialize(t)
	s.startSleep(t)
	s.pipe.Close()
	s.request(t, 2, "tools/list", `{}`)
	said, err := io.ReadAll(s.stderr)
	if err != nil || !strings.Contains(string(said), "hatchel: the connection to the client failed: ") {
		t.Errorf("%v: %s", err, said)
	}
	s.awaitEnd(t, exit.Failed)
	if s.sleeps() {
		t.Error("a program outlives the server")
	}
}

func TestAStandardOutputThatNobodyReadsEndsAtTheSecondSignal(t *testing.T) {
	t.Parallel()
	s := startObserved(t, "--stdio")
	go io.Copy(io.Discard, s.stderr)
	s.initialize(t)
	s.stall(t, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`)
	s.signal(t, syscall.SIGTERM)
	select {
	case err := <-s.ended:
		t.Fatalf("it has ended at the first signal: %v", err)
	case <-time.After(500 * time.Millisecond):
	}
	s.signal(t, syscall.SIGTERM)
	s.awaitEnd(t, exit.Failed)
}

// isFull reports whether a pipe has no room for more lines. The end of each of its pages stays free if the next line
// does not fit there.
func isFull(t *testing.T, pipe *os.File) bool {
	t.Helper()
	size, err := unix.FcntlInt(pipe.Fd(), unix.F_GETPIPE_SZ, 0)
	unread, failed := unix.IoctlGetInt(int(pipe.Fd()), unix.TIOCINQ)
	if err = errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	return unread > size/4*3
}

// stall makes requests, with a number for %d, until the server reads no more of them, because nobody reads its replies.
func (s *observed) stall(t *testing.T, request string) {
	t.Helper()
	var requests atomic.Int64
	go func() {
		for {
			if _, err := fmt.Fprintf(s.in, request+"\n", 1000+requests.Add(1)); err != nil {
				return
			}
		}
	}()
	const pauses = 25 // of 20 ms, in which it has read nothing
	before, waits := int64(0), 0
	await(t, func() bool {
		if now := requests.Load(); now != before || !isFull(t, s.pipe) {
			before, waits = now, 0
		}
		waits++
		return waits > pauses
	})
}

func TestStandardStreamsThatNobodyReadsEndAtTheSecondSignal(t *testing.T) {
	t.Parallel()
	s := startObserved(t, "--stdio", "--log-level", "debug")
	s.initialize(t)
	const call = `{"name":"t","arguments":{}}`
	for id := 1; !isFull(t, s.stderr); id++ {
		s.request(t, id, "tools/call", call)
		s.awaitReply(t, id)
	}
	s.stall(t, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":`+call+`}`)
	s.signal(t, syscall.SIGTERM)
	select {
	case err := <-s.ended:
		t.Fatalf("it has ended at the first signal: %v", err)
	case <-time.After(500 * time.Millisecond):
	}
	s.signal(t, syscall.SIGTERM)
	s.awaitEnd(t, exit.Failed)
}

func TestTheEndOfStandardInputEndsProgramsThatIgnoreSignals(t *testing.T) {
	t.Parallel()
	s := startObserved(t, "--stdio")
	go io.Copy(io.Discard, s.stderr)
	s.initialize(t)
	s.startSleep(t)
	s.in.Close()
	s.awaitEnd(t, 0)
	if s.sleeps() {
		t.Error("a program outlives the server")
	}
}
