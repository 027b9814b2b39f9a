package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hatchel/internal/programtest"
	"hatchel/runtime/durable/postgres/postgrestest"
)

// replicaConfig is the configuration of three processes with their state in one database.
const replicaConfig = `
secret "state" { env = "STATE" }
variable "bank" { type = string }
state { postgres = secret.state }
connection "http" "bank" { base_url = var.bank }
tool "pay" {
  description = "Pay, if the user is sure."
  step "money" {
    http "bank" { post = "/pay" }
  }
  step "sure" {
    ask "sure" {
      elicit { message = "Sure?" }
    }
  }
  text = "paid: ${step.sure.sure.action}"
}
tool "long" {
  description = "Ask after much was read."
  step "much" {
    http "bank" { get = "/much" }
  }
  step "sure" {
    ask "sure" {
      elicit { message = "Sure?" }
    }
  }
  text = "${step.much.body.much}"
}
tool "buy" {
  description = "Pay once for each key."
  idempotency { ttl = "1h" }
  http "bank" { post = "/pay" }
  text = "bought"
}
tool "order" {
  description = "Order once for each key, and wait until it has come."
  timeout     = "10m"
  idempotency { ttl = "1h" }
  http "bank" { post = "/order" }
  text = "it has come"
}
tool "quiz" {
  description = "Ask in a task."
  task { mode = "required" }
  step "who" {
    ask "who" {
      elicit {
        message = "Who?"
        fields  = object({ name = string })
      }
    }
  }
  text = "it was ${step.who.who.content.name}"
}
tool "hold" {
  description = "Take long."
  task { mode = "required" }
  step "hold" {
    http "bank" { get = "/hold" }
  }
  text = "done"
}
tool "plain" {
  description = "Remember nothing."
  text        = "plain"
}
`

// replica is a server process.
type replica struct {
	cmd          *exec.Cmd
	url          string
	stderrClosed chan struct{}    // closed when it has nothing more to say
	log          *strings.Builder // of stderr; read it after stderrClosed
}

func writeReplicaConfig(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(replicaConfig), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func startReplica(t testing.TB, dir, database string, flags ...string) *replica {
	t.Helper()
	return startReplicaIn(t, dir, []string{"STATE=" + database}, flags...)
}

// startReplicaIn starts a process with more variables in its environment.
func startReplicaIn(t testing.TB, dir string, environ []string, flags ...string) *replica {
	t.Helper()
	hatchel, err := exec.LookPath("hatchel")
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{cmd: exec.Command(hatchel, append([]string{"serve", "--listen", "127.0.0.1:0", dir}, flags...)...), stderrClosed: make(chan struct{})}
	r.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, environ...)
	stderr, err := r.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.kill)
	ready, log := make(chan string, 1), new(strings.Builder)
	r.log = log
	go func() {
		defer close(r.stderrClosed)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			log.WriteString(lines.Text() + "\n")
			if m := programtest.Ready.FindStringSubmatch(lines.Text()); m != nil {
				ready <- m[1]
			}
		}
	}()
	select {
	case r.url = <-ready:
	case <-r.stderrClosed:
		t.Fatalf("it ended: %s", log)
	case <-time.After(programtest.Timeout):
		t.Fatal("it is not ready")
	}
	return r
}

func (r *replica) kill() {
	r.cmd.Process.Kill()
	<-r.stderrClosed
	r.cmd.Wait()
}

func (r *replica) address() string { return strings.TrimPrefix(r.url, "http://") }

// shownBlock returns a configuration that docs/running.md shows, with changes: pairs of what it has and what replaces it.
func shownBlock(t *testing.T, language string, changes ...string) string {
	t.Helper()
	guide, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "running.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(guide)
	if shown == nil {
		t.Fatalf("docs/running.md shows no configuration in %s", language)
	}
	out := string(shown[1])
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(out, changes[i]) {
			t.Fatalf("the configuration in %s has no %q", language, changes[i])
		}
		out = strings.ReplaceAll(out, changes[i], changes[i+1])
	}
	return out
}

// startNginx serves processes with the nginx configuration that docs/running.md shows, with changes as shownBlock takes
// them.
func startNginx(t *testing.T, replicas []*replica, changes ...string) (url string) {
	t.Helper()
	nginx := os.Getenv("HATCHEL_TEST_NGINX")
	if nginx == "" {
		t.Skip("HATCHEL_TEST_NGINX is not set")
	}
	address := reserveAddress(t)
	http := shownBlock(t, "nginx", changes...)
	http = strings.Replace(http, "listen 8080", "add_header X-Served-By $upstream_addr always;\n  listen "+address, 1)
	for i, r := range replicas {
		http = strings.ReplaceAll(http, "127.0.0.1:808"+strconv.Itoa(i+1), r.address())
	}
	dir := t.TempDir()
	config := fmt.Sprintf("daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/error.log; events {}\nhttp {\naccess_log off;\n", dir)
	for _, temporary := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		config += temporary + "_temp_path " + filepath.Join(dir, temporary) + ";\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(config+http+"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "error.log")
	startProxy(t, exec.Command(nginx, "-p", dir, "-c", filepath.Join(dir, "nginx.conf"), "-e", log), address, log)
	return "http://" + address
}

// startCaddy serves processes with the configuration of Caddy that docs/running.md shows, with changes.
func startCaddy(t *testing.T, replicas []*replica, changes ...string) (url string) {
	t.Helper()
	caddy := os.Getenv("HATCHEL_TEST_CADDY")
	if caddy == "" {
		t.Skip("HATCHEL_TEST_CADDY is not set")
	}
	address := reserveAddress(t)
	_, port, _ := net.SplitHostPort(address)
	site := shownBlock(t, "caddy", append(changes, "tools.example {", "https://tools.example:"+port+" {\n\tbind 127.0.0.1")...)
	for i, r := range replicas {
		site = strings.ReplaceAll(site, "127.0.0.1:808"+strconv.Itoa(i+1), r.address())
	}
	dir := t.TempDir()
	config, log := filepath.Join(dir, "Caddyfile"), filepath.Join(dir, "log")
	global := "{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n\tlog {\n\t\toutput file " + log + "\n\t}\n}\n"
	if err := os.WriteFile(config, []byte(global+site), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(caddy, "run", "--adapter", "caddyfile", "--config", config)
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	startProxy(t, cmd, address, log)
	return "https://" + address
}

// startProxy runs a proxy until the test ends.
func startProxy(t *testing.T, cmd *exec.Cmd, address, log string) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if text, _ := os.ReadFile(log); t.Failed() {
			t.Logf("the log of the proxy:\n%s", text)
		}
	})
	await(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		conn.Close()
		return true
	})
}

// reserveAddress returns an address with no listener, whose port is not given to anyone else until
// the test ends. A server, which sets SO_REUSEADDR, can listen there.
func reserveAddress(t testing.TB) (address string) {
	t.Helper()
	syscall.ForkLock.RLock()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(socket)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(socket) })
	err = syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err == nil {
		err = syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port)
}

// await waits until a condition holds.
func await(t *testing.T, so func() bool) {
	t.Helper()
	limit, tick := time.After(programtest.Timeout), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("it does not happen")
		}
	}
}

// rpcResponse is a JSON-RPC response.
type rpcResponse struct {
	Result struct {
		ResultType, RequestState, TaskID, Status, StatusMessage string

		Content []struct{ Text string }
		Result  *struct{ Content []struct{ Text string } }
	}
	Error *struct {
		Code    int
		Message string
	}
	servedBy string // the address of the process, if nginx was asked
}

// sendRPC makes a request of protocol revision 2026-07-28. It may be called from any goroutine.
func sendRPC(t *testing.T, url, method string, params map[string]any) (got rpcResponse) {
	t.Helper()
	name, _ := params["name"].(string)
	id, _ := params["taskId"].(string)
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion": "2026-07-28",
		"io.modelcontextprotocol/clientCapabilities": map[string]any{
			"elicitation": map[string]any{}, "extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}},
		},
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Error(err)
		return got
	}
	r, err := http.NewRequest(http.MethodPost, url+"/mcp", strings.NewReader(string(body)))
	if err != nil {
		t.Error(err)
		return got
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name + id,
	} {
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return got
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
		return got
	}
	if _, data, ok := strings.Cut(string(answer), "data: "); ok {
		answer = []byte(data)
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Errorf("%v: %s", err, answer)
	}
	got.servedBy = res.Header.Get("X-Served-By")
	return got
}

func callTool(t *testing.T, url, tool string) rpcResponse {
	t.Helper()
	return sendRPC(t, url, "tools/call", map[string]any{"name": tool, "arguments": map[string]any{}})
}

func buy(t *testing.T, url, key string) rpcResponse {
	t.Helper()
	return callWithKey(t, url, "buy", key)
}

func callWithKey(t *testing.T, url, tool, key string) rpcResponse {
	t.Helper()
	return sendRPC(t, url, "tools/call", map[string]any{"name": tool, "arguments": map[string]any{"idempotency_key": key}})
}

func resumeCall(t *testing.T, url, tool, state string) rpcResponse {
	t.Helper()
	return sendRPC(t, url, "tools/call", map[string]any{
		"name": tool, "arguments": map[string]any{}, "requestState": state, "inputResponses": map[string]any{"sure": map[string]any{"action": "accept"}},
	})
}

func sendTaskRPC(t *testing.T, url, method, id string, answers map[string]any) rpcResponse {
	t.Helper()
	params := map[string]any{"taskId": id}
	if answers != nil {
		params["inputResponses"] = answers
	}
	return sendRPC(t, url, method, params)
}

func (g rpcResponse) text() string {
	content := g.Result.Content
	if g.Result.Result != nil {
		content = g.Result.Result.Content
	}
	if len(content) == 0 {
		return ""
	}
	return content[0].Text
}

// replicaSet is three processes with nginx in front of them.
type replicaSet struct {
	all  []*replica
	url  string
	bank *bank
}

func startReplicas(t *testing.T) *replicaSet {
	t.Helper()
	rs, dir, database := new(replicaSet), writeReplicaConfig(t), emptySchema(t)
	var address string
	rs.bank, address = startBank(t)
	for range 3 {
		rs.all = append(rs.all, startReplica(t, dir, database, "--var", "bank="+address))
	}
	rs.url = startNginx(t, rs.all)
	return rs
}

// bank is the HTTP service of the tools.
type bank struct {
	paid      atomic.Int64
	started   chan struct{} // is sent to when a request of the tool hold has come
	cancelled chan struct{} // and when who has sent it is gone
	release   chan struct{} // is closed when what was ordered comes
}

func startBank(t testing.TB) (b *bank, url string) {
	b = &bank{started: make(chan struct{}, 10), cancelled: make(chan struct{}, 10), release: make(chan struct{})}
	routes := http.NewServeMux()
	routes.HandleFunc("POST /pay", func(http.ResponseWriter, *http.Request) { b.paid.Add(1) })
	routes.HandleFunc("POST /order", func(http.ResponseWriter, *http.Request) {
		b.paid.Add(1)
		b.started <- struct{}{}
		<-b.release
	})
	routes.HandleFunc("GET /much", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "{\"much\":%q}", strings.Repeat("much ", 10000))
	})
	routes.HandleFunc("GET /hold", func(_ http.ResponseWriter, r *http.Request) {
		b.started <- struct{}{}
		<-r.Context().Done()
		b.cancelled <- struct{}{}
	})
	server := httptest.NewServer(routes)
	t.Cleanup(server.Close)
	return b, server.URL
}

// awaitEvent waits for a value on a channel.
func awaitEvent(t *testing.T, event <-chan struct{}) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(programtest.Timeout):
		t.Fatal("it does not happen")
	}
}

// emptySchema returns the address of the test database with a new schema.
func emptySchema(t testing.TB) (address string) {
	t.Helper()
	address, _ = postgrestest.Schema(t)
	return address
}
