package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hatchel/internal/programtest"
)

// stopConfig is the configuration of processes that are stopped while they are called.
const stopConfig = `
tool "plain" {
  description = "Answer."
  text        = "plain"
}
tool "slow" {
  description = "Answer after a while."
  shell { command = ["sleep", "0.3"] }
  text = "slow"
}
tool "held" {
  description = "Answer when the file release is there."
  shell {
    script = "touch began; while [ ! -e release ]; do sleep 0.05; done"
    sandbox { write = ["."] }
  }
  text = "held"
}
`

// startStoppable starts a process with stopConfig in a directory of its own.
func startStoppable(t *testing.T, flags ...string) (r *replica, dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(stopConfig), 0o644); err != nil {
		t.Fatal(err)
	}
	return startReplica(t, dir, "", flags...), dir
}

// terminate sends SIGTERM.
func (r *replica) terminate(t *testing.T) {
	t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// awaitEnd waits until the process has ended well.
func (r *replica) awaitEnd(t *testing.T) {
	t.Helper()
	awaitEvent(t, r.stderrClosed)
	if err := r.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func isRefused(address string) bool {
	conn, err := net.Dial("tcp", address)
	if err == nil {
		conn.Close()
	}
	return err != nil
}

func TestAServerThatStopsServesTheConnectionsThatItHasOnceMore(t *testing.T) {
	t.Parallel()
	r, dir := startStoppable(t)
	kept, idle, held := newProtocolClient(r.url, true), newProtocolClient(r.url, false), newProtocolClient(r.url, false)
	for _, c := range []*protocolClient{kept, idle} {
		if _, err := c.call("plain"); err != nil {
			t.Fatal(err)
		}
	}
	underWay := make(chan error, 1)
	go func() {
		res, err := held.call("held")
		if err == nil && !res.Close {
			err = fmt.Errorf("the connection of the call that was under way stays open: %v", res.Header)
		}
		underWay <- err
	}()
	await(t, func() bool { _, err := os.Stat(filepath.Join(dir, "began")); return err == nil })
	r.terminate(t)
	await(t, func() bool { return isRefused(r.address()) })
	res, err := kept.call("plain")
	if err != nil || !res.Close {
		t.Errorf("a call on a kept connection: %+v %v", res, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "release"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := <-underWay; err != nil {
		t.Error(err)
	}
	r.awaitEnd(t)
	idle.transport.CloseIdleConnections()
}

func TestADrainingServerIsNotReadyAndAcceptsCalls(t *testing.T) {
	t.Parallel()
	r, _ := startStoppable(t, "--drain", "1h")
	r.terminate(t)
	await(t, func() bool {
		status, body := readyz(t, r.url)
		return status == 503 && strings.Contains(body, `"stopping":true`)
	})
	for range 2 {
		c := newProtocolClient(r.url, false)
		if res, err := c.call("plain"); err != nil || res.Close {
			t.Errorf("a new call: %v %v", res, err)
		}
		c.transport.CloseIdleConnections()
	}
	r.terminate(t) // a second signal ends it
	r.awaitEnd(t)
}

// TestRollingRestartsBehindNginxLoseNoCall restarts three processes in turn, one every two seconds,
// while clients of both eras call through the nginx that docs/running.md shows.
func TestRollingRestartsBehindNginxLoseNoCall(t *testing.T) {
	t.Parallel()
	dir, database := t.TempDir(), emptySchema(t)
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(postgresState+stopConfig), 0o644); err != nil {
		t.Fatal(err)
	}
	var all []*replica
	for range 3 {
		all = append(all, startReplica(t, dir, database))
	}
	url := startNginx(t, all)
	var calls atomic.Int64
	var clients sync.WaitGroup
	stop := make(chan struct{})
	for i := range 8 {
		c, tool := newProtocolClient(url, i%2 == 0), []string{"plain", "slow"}[i/2%2]
		clients.Go(func() {
			defer c.transport.CloseIdleConnections()
			again := time.NewTicker(5 * time.Millisecond)
			defer again.Stop()
			for {
				select {
				case <-stop:
					return
				case <-again.C:
				}
				if _, err := c.call(tool); err != nil {
					t.Error(err)
				}
				calls.Add(1)
			}
		})
	}
	next := time.NewTicker(2 * time.Second)
	defer next.Stop()
	for i := range 6 {
		<-next.C
		r := all[i%3]
		r.terminate(t)
		r.awaitEnd(t)
		all[i%3] = startReplica(t, dir, database, "--listen", r.address())
	}
	close(stop)
	clients.Wait()
	if calls.Load() < 100 {
		t.Errorf("only %d calls were made", calls.Load())
	}
}

// protocolClient is a client that repeats a request that was refused with Retry-After.
type protocolClient struct {
	url       string
	legacy    bool
	session   string
	transport *http.Transport

	forwardedFor string         // the header X-Forwarded-For
	arguments    map[string]any // of calls
}

func newProtocolClient(url string, legacy bool) *protocolClient {
	return &protocolClient{url: url, legacy: legacy, transport: new(http.Transport), arguments: map[string]any{}}
}

// call calls a tool, which answers with its name. It returns the last response.
func (c *protocolClient) call(tool string) (*http.Response, error) {
	for deadline := time.Now().Add(programtest.Timeout); time.Now().Before(deadline); {
		res, text, err := c.send(tool)
		switch {
		case err != nil:
			return nil, err
		case res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") != "":
		case c.legacy && c.session == "" && res.Header.Get("Mcp-Session-Id") != "":
			c.session = res.Header.Get("Mcp-Session-Id")
		case res.StatusCode == http.StatusOK && strings.Contains(text, `"text":"`+tool+`"`):
			return res, nil
		default:
			return nil, fmt.Errorf("session %q: %s %s", c.session, res.Status, text)
		}
	}
	return nil, fmt.Errorf("the tool %s does not answer", tool)
}

// send sends a call, or the beginning of the session that it needs.
func (c *protocolClient) send(tool string) (*http.Response, string, error) {
	method, version := "tools/call", "2026-07-28"
	params := map[string]any{"name": tool, "arguments": c.arguments}
	switch {
	case !c.legacy:
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": map[string]any{},
		}
	case c.session == "":
		method, version = "initialize", ""
		params = map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}}
	default:
		version = "2025-11-25"
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, "", err
	}
	r, err := http.NewRequest(http.MethodPost, c.url+"/mcp", strings.NewReader(string(body)))
	if err != nil {
		return nil, "", err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": version, "Mcp-Session-Id": c.session, "Mcp-Method": method, "Mcp-Name": tool,
		"X-Forwarded-For": c.forwardedFor,
	} {
		if value != "" && (!c.legacy || !strings.HasPrefix(name, "Mcp-Method") && name != "Mcp-Name") {
			r.Header.Set(name, value)
		}
	}
	res, err := c.transport.RoundTrip(r)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res, string(text), err
}
