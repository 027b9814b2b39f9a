package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// ledger is a service that carries out whatever it is told, as often as it is told.
type ledger struct {
	mu   sync.Mutex
	paid map[string]int // by order; guarded by mu
	keys map[string]int // that came with requests; guarded by mu
	told chan struct{}  // holds something after a request
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var order struct{ Order string }
	json.Unmarshal(body, &order)
	l.mu.Lock()
	l.paid[order.Order]++
	l.keys[r.Header.Get("Idempotency-Key")]++
	n := l.paid[order.Order]
	l.mu.Unlock()
	select {
	case l.told <- struct{}{}:
	default:
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"order":%q,"times":%d}`, order.Order, n)
}

// crashing is a server that is killed and started again.
type crashing struct {
	t   *testing.T
	dir string
	cmd *exec.Cmd
	url string
}

func (c *crashing) start() {
	c.t.Helper()
	r := startReplica(c.t, c.dir, "")
	c.cmd, c.url = r.cmd, r.url
}

// pay calls the tool, and returns what it was told; empty when there was no answer.
func (c *crashing) pay(order string) string {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"order":%q,"idempotency_key":"key-%s"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, order, order)
	req, err := http.NewRequest("POST", c.url+"/mcp", strings.NewReader(body))
	if err != nil {
		c.t.Error(err)
		return ""
	}
	for name, text := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "pay"} {
		req.Header.Set(name, text)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	said, err := io.ReadAll(res.Body)
	if err != nil || !bytes.Contains(said, []byte(`"result"`)) {
		return ""
	}
	return string(said)
}

// However often the process is killed while it pays, no order is paid twice: what was paid is answered again, and what may have been is not tried again.
func TestAKilledProcessDoesNothingTwice(t *testing.T) {
	l := &ledger{paid: map[string]int{}, keys: map[string]int{}, told: make(chan struct{}, 1)}
	service := httptest.NewServer(l)
	defer service.Close()
	dir := t.TempDir()
	src := fmt.Sprintf(`
state { sqlite = "state.db" }
connection "http" "bank" { base_url = %q }
tool "pay" {
  description = "Pay an order."
  input "order" { type = string }
  idempotency {}
  http "bank" {
    post = "/payments"
    json = { order = input.order }
  }
}
`, service.URL)
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	const kills, callers = 50, 4
	c := &crashing{t: t, dir: dir}
	paid := map[string]string{} // what was answered before a kill
	var orders []string
	for round := range kills {
		c.start()
		select {
		case <-l.told:
		default:
		}
		var mu sync.Mutex
		var calling sync.WaitGroup
		ended := make(chan struct{})
		for caller := range callers {
			orders = append(orders, fmt.Sprintf("%d-%d-0", round, caller), fmt.Sprintf("%d-%d-1", round, caller), fmt.Sprintf("%d-%d-2", round, caller))
			calling.Go(func() {
				for n := range 3 {
					order := fmt.Sprintf("%d-%d-%d", round, caller, n)
					if said := c.pay(order); said != "" {
						mu.Lock()
						paid[order] = said
						mu.Unlock()
					}
				}
			})
		}
		go func() { calling.Wait(); close(ended) }()
		switch {
		case round == 0:
			<-ended
		case round%5 == 0: // while money moves
			<-l.told
		default:
			moment := time.NewTimer(time.Duration(rand.IntN(30)) * time.Millisecond)
			select {
			case <-moment.C:
			case <-ended:
			}
		}
		c.cmd.Process.Kill()
		<-ended
	}
	c.start()
	var checking sync.WaitGroup
	var mu sync.Mutex
	unknown, fresh := 0, 0
	places := make(chan struct{}, 32)
	for _, order := range orders {
		checking.Go(func() {
			places <- struct{}{}
			said := c.pay(order)
			<-places
			mu.Lock()
			defer mu.Unlock()
			switch before := paid[order]; {
			case strings.Contains(said, "outcome is unknown"):
				if unknown++; before != "" {
					t.Errorf("%s was answered with %s, and is unknown now", order, before)
				}
			case !strings.Contains(said, `"times":1`) && !strings.Contains(said, `\"times\":1`):
				t.Errorf("%s: %s", order, said)
			case before == "":
				fresh++
			case before != said:
				t.Errorf("%s was answered with %s, and now with %s", order, before, said)
			}
		})
	}
	checking.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for order, n := range l.paid {
		if n != 1 || l.keys["key-"+order] != 1 {
			t.Errorf("%s was paid %d times, with the key %d times", order, n, l.keys["key-"+order])
		}
	}
	if len(paid) == 0 || unknown == 0 {
		t.Errorf("of %d orders %d were answered before a kill, %d after, and %d are unknown: the test has not killed at any interesting moment", len(orders), len(paid), fresh, unknown)
	}
	t.Logf("of %d orders %d were answered before a kill, %d after, and %d are unknown", len(orders), len(paid), fresh, unknown)
}
