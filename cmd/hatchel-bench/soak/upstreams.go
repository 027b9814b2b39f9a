package soak

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hatchel/cmd/hatchel-bench/upstream"
	"hatchel/internal/ctxtime"
)

// upstreams are the MCP servers that the folder calls, over HTTP and as programs. They write a line
// to one file for each call that they carry out.
type upstreams struct {
	written *os.File
	program string       // the binary of the programs
	url     string       // of the servers over HTTP, one for each revision
	number  atomic.Int64 // of the last call
	edits   int          // of the file with the connections

	mu       sync.Mutex
	outcomes map[int]outcome // of calls that write, by number; guarded by mu
	// The connections of the sessions over HTTP that the client knows, by id; empty for those that have ended.
	// Guarded by mu.
	sessions map[string]string
}

// outcome is what a client knows of a call.
type outcome int

const (
	unknown outcome = iota // with and without an effect
	done
	unsent
)

// upstreamConnections are the connections of the folder. For each there are two tools, which read and write a record.
var upstreamConnections = []struct{ name, arguments string }{
	{"http_shared", `url = "$URL/$LEGACY/$NAME"` + "\n  sessions = \"shared\""},
	{"http_caller", `url = "$URL/$LEGACY/$NAME"`},
	{"http_call", `url = "$URL/$LEGACY/$NAME"` + "\n  sessions = \"call\""},
	{"http_modern", `url = "$URL/$MODERN/$NAME"`},
	{"program_shared", "command = $PROGRAM_LEGACY\n  sessions = \"shared\"\n  $SANDBOX"},
	{"program_modern", "command = $PROGRAM_MODERN\n  start = \"call\"\n  $SANDBOX"},
	{"program_call", "command = $PROGRAM_LEGACY\n  start = \"call\"\n  sessions = \"call\"\n  $SANDBOX"},
}

// What the connections hold while no call runs: sessions over HTTP of http_shared and http_caller, and of http_call for
// its next call; the programs of program_shared and program_modern.
const (
	maxIdleSessions = 3
	maxIdlePrograms = 2
)

const upstreamBlocks = `
connection "mcp" %[1]q {
  definitions = "records.tools.json"
  idle        = "%[3]ds"
  %[2]s
}
tool "read_%[1]s" {
  description = "Read a record."
  read_only   = true
  input "id" { type = integer }
  mcp %[1]q { call = "read_record" }
}
tool "write_%[1]s" {
  description = "Write a record."
  input "id" { type = integer }
  mcp %[1]q { call = "write_record" }
}
`

// startUpstreams starts the servers over HTTP. Their file is in the folder at path.
func startUpstreams(ctx context.Context, program, path string) (u *upstreams, stop func(), err error) {
	u = &upstreams{program: program, outcomes: map[int]outcome{}, sessions: map[string]string{}}
	name := filepath.Join(path, "written")
	if u.written, err = os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
		return nil, nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		u.written.Close()
		return nil, nil, err
	}
	u.url = "http://" + listener.Addr().String()
	mux := http.NewServeMux()
	for _, revision := range []string{upstream.Legacy, upstream.Modern} {
		s := &upstream.Server{Revision: revision, Written: u.written}
		mux.Handle("/"+revision+"/{connection}", u.withSessions(s))
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: stepTimeout}
	go server.Serve(listener)
	return u, func() { server.Close(); u.written.Close() }, nil
}

// withSessions answers some requests late, and gives each session an id.
func (u *upstreams) withSessions(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ended := false
		if id := r.Header.Get(sessionHeader); id != "" {
			u.mu.Lock()
			_, known := u.sessions[id]
			if ended = known && u.sessions[id] == ""; !ended {
				u.sessions[id] = r.PathValue("connection")
			}
			if r.Method == http.MethodDelete {
				u.sessions[id] = ""
			}
			u.mu.Unlock()
		}
		switch {
		case ended:
			w.WriteHeader(http.StatusNotFound)
			return
		case r.Method == http.MethodDelete:
			return
		}
		if rand.IntN(4) == 0 && ctxtime.Sleep(r.Context(), time.Duration(rand.IntN(20))*time.Millisecond) != nil {
			return // the client has cancelled the request
		}
		h.ServeHTTP(sessionWriter{w}, r)
	})
}

const sessionHeader = "Mcp-Session-Id"

// sessionWriter gives a session that begins an id of its own.
type sessionWriter struct{ http.ResponseWriter }

func (w sessionWriter) Write(b []byte) (int, error) {
	if w.Header().Get(sessionHeader) != "" {
		w.Header().Set(sessionHeader, crand.Text())
	}
	return w.ResponseWriter.Write(b)
}

// openSessions returns the connections of the sessions that are open over HTTP.
func (u *upstreams) openSessions() (of []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, connection := range u.sessions {
		if connection != "" {
			of = append(of, connection)
		}
	}
	return of
}

// write writes the files of the connections to the folder at path. Each time the connections have
// another argument, so that a reload replaces their sessions and processes.
func (u *upstreams) write(path string) error {
	pins, err := testdata.ReadFile("testdata/upstreams/records.tools.json")
	if err != nil {
		return err
	}
	u.edits++
	command := func(revision string) string {
		return encode([]string{u.program, "upstream", "stdio", revision, u.written.Name()})
	}
	sandbox := fmt.Sprintf("sandbox {\n    read  = [%q]\n    write = [%q]\n  }", u.program, u.written.Name())
	replacer := strings.NewReplacer("$URL", u.url, "$LEGACY", upstream.Legacy, "$MODERN", upstream.Modern,
		"$PROGRAM_LEGACY", command(upstream.Legacy), "$PROGRAM_MODERN", command(upstream.Modern), "$SANDBOX", sandbox)
	var blocks bytes.Buffer
	for _, c := range upstreamConnections {
		arguments := strings.ReplaceAll(replacer.Replace(c.arguments), "$NAME", c.name)
		fmt.Fprintf(&blocks, upstreamBlocks, c.name, arguments, 600+u.edits)
	}
	for name, text := range map[string][]byte{"records.tools.json": pins, "upstreams.hcl": blocks.Bytes()} {
		name = filepath.Join(path, name)
		if err := os.WriteFile(name+"~", text, 0o644); err != nil {
			return err
		}
		if err := os.Rename(name+"~", name); err != nil {
			return err
		}
	}
	return nil
}

// programs returns the processes of the programs.
func (u *upstreams) programs() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil || !bytes.HasSuffix(text, []byte("\x00"+u.written.Name()+"\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// useUpstreams calls tools of the MCP servers. One call in eight is cancelled.
func (r *run) useUpstreams(ctx context.Context) error {
	era := pick(eras)
	session, closeSession, err := dial(ctx, r.server.Host, "", era, &mcp.ClientOptions{})
	if err != nil {
		return err
	}
	defer closeSession()
	for range 1 + rand.IntN(20) {
		if err := r.callUpstream(ctx, session, pick(upstreamConnections).name); err != nil {
			return err
		}
	}
	return nil
}

// callUpstream calls one tool, and keeps or judges what came of it.
func (r *run) callUpstream(ctx context.Context, session *mcp.ClientSession, name string) error {
	n := int(r.upstreams.number.Add(1))
	verb := pick([]string{"read", "write"})
	want := fmt.Sprintf("Record %d is written.", n)
	if verb == "read" {
		want = upstream.Record(n)
	}
	call := ctx
	if rand.IntN(8) == 0 {
		var cancel context.CancelFunc
		call, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(5000))*time.Microsecond)
		defer cancel()
	}
	params := &mcp.CallToolParams{Name: verb + "_" + name, Arguments: map[string]any{"id": n}}
	result, err := session.CallTool(call, params)
	came := unknown
	switch {
	case err != nil && call.Err() != nil:
		r.count("upstream call cancelled")
	case err != nil:
		return err
	case !result.IsError:
		came = done
		r.count("upstream call of " + name)
		if text, ok := result.Content[0].(*mcp.TextContent); len(result.Content) != 1 || !ok || text.Text != want {
			r.fail("upstream answer", "%s %d: %.300s", params.Name, n, encode(result))
		}
	case strings.Contains(encode(result), "Nothing was sent"):
		came = unsent
		r.count("upstream call not sent")
	default:
		r.count("upstream call with an unknown outcome")
		if !strings.HasPrefix(name, "program") {
			r.fail("upstream failure", "%s %d: %.300s", params.Name, n, encode(result))
		}
	}
	if verb == "write" {
		r.upstreams.mu.Lock()
		defer r.upstreams.mu.Unlock()
		r.upstreams.outcomes[n] = came
	}
	return nil
}

// killProgram kills one of the programs.
func (r *run) killProgram(ctx context.Context) error {
	if err := ctxtime.Sleep(ctx, time.Duration(5+rand.IntN(10))*time.Second); err != nil {
		return nil
	}
	pids := r.upstreams.programs()
	if len(pids) == 0 {
		return nil
	}
	r.count("program killed")
	if err := syscall.Kill(pick(pids), syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// checkUpstreams waits until there are no more sessions and programs than the limits, and fails otherwise.
func (r *run) checkUpstreams(ctx context.Context, when string, maxSessions, maxPrograms int) {
	for deadline := time.Now().Add(stepTimeout); ; {
		sessions, programs := r.upstreams.openSessions(), len(r.upstreams.programs())
		late := time.Now().After(deadline) || ctxtime.Sleep(ctx, 100*time.Millisecond) != nil
		if len(sessions) > maxSessions || programs > maxPrograms {
			if !late {
				continue
			}
			r.fail("upstream sessions", "sessions over HTTP of %v and %d programs %s", sessions, programs, when)
		}
		r.add("sessions of MCP servers and programs "+when, "%d, %d", len(sessions), programs)
		return
	}
}

// judge compares what clients know of their calls with what the servers have carried out.
func (u *upstreams) judge(r *Report) error {
	text, err := os.ReadFile(u.written.Name())
	if err != nil {
		return err
	}
	times := map[int]int{}
	for line := range strings.Lines(string(text)) {
		var n int
		if err := json.Unmarshal([]byte(line), &n); err != nil {
			return err
		}
		times[n]++
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	r.add("upstream calls that write, and those carried out", "%d, %d", len(u.outcomes), len(times))
	for n, came := range u.outcomes {
		switch times[n] {
		case 0:
			if came == done {
				r.fail("upstream call lost", "%d has an answer, and was not carried out", n)
			}
		case 1:
			if came == unsent {
				r.fail("upstream call hidden", "%d was carried out, and is said not to be sent", n)
			}
		default:
			r.fail("upstream call repeated", "%d was carried out %d times", n, times[n])
		}
	}
	return nil
}
