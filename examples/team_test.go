package examples_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// person is somebody of the team, with a key.
type person struct {
	server *server
	key    string // empty for nobody
}

// asks sends a request as the person, and returns the status and the answer.
func (p person) asks(method, params string) (int, string) {
	t := p.server.t
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, method, params)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.server.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", "2026-07-28")
	req.Header.Set("Mcp-Method", method)
	var named struct{ Name, URI string }
	if err := json.Unmarshal([]byte("{"+strings.TrimSuffix(params, ",")+"}"), &named); err == nil && named.Name+named.URI != "" {
		req.Header.Set("Mcp-Name", named.Name+named.URI)
	}
	if p.key != "" {
		req.Header.Set("Authorization", "Bearer "+p.key)
	}
	res, err := pooled.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(answer)
}

// sees are the names of the tools that are listed for the person.
func (p person) sees() string {
	var listed struct {
		Result struct {
			Tools      []struct{ Name string }
			CacheScope string
		}
	}
	_, answer := p.asks("tools/list", "")
	if err := json.Unmarshal([]byte(answer), &listed); err != nil || listed.Result.CacheScope != "private" {
		p.server.t.Errorf("the list that depends on who asks is %s, %v", answer, err)
	}
	var names []string
	for _, tool := range listed.Result.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

func TestATeamSeesAndDoesWhatItsPoliciesSay(t *testing.T) {
	t.Parallel()
	s := example(t, "team").serve()
	ada, bob, eva := person{s, "key-of-ada-0123456789"}, person{s, "key-of-bob-0123456789"}, person{s, "key-of-eva-0123456789"}
	for _, p := range []struct {
		person
		want string
	}{{ada, "invoice_delete invoice_list invoice_pay"}, {bob, "invoice_list invoice_pay"}, {eva, "invoice_list"}} {
		if got := p.sees(); got != p.want {
			t.Errorf("who has the key %s sees %q, want %q", p.key, got, p.want)
		}
	}
	pay := func(id, amount int) string {
		return fmt.Sprintf(`"name":"invoice_pay","arguments":{"id":%d,"amount":%d},`, id, amount)
	}
	for _, c := range []struct {
		who            person
		method, params string
		want           string
	}{
		{eva, "tools/call", pay(1, 640), `"code":-32602,"message":"Unknown tool: invoice_pay"`},
		{bob, "tools/call", pay(2, 25000), "paid by the board. Ask ada."},
		{bob, "tools/call", pay(1, 640), "Invoice 1 is paid."},
		{ada, "tools/call", pay(2, 25000), "Invoice 2 is paid."},
		{bob, "tools/call", `"name":"invoice_delete","arguments":{"id":3},`, `"code":-32602,"message":"Unknown tool: invoice_delete"`},
		{eva, "tools/call", `"name":"invoice_delete","arguments":{"number":3},`, `"code":-32602,"message":"Unknown tool: invoice_delete"`},
		{ada, "tools/call", `"name":"invoice_delete","arguments":{"number":3},`, "unknown argument"},
		{eva, "resources/read", `"uri":"team://payments",`, `{\"person\":\"ada\",\"invoices\":1,\"amount\":25000},{\"person\":\"bob\",\"invoices\":1,\"amount\":640}`},
	} {
		if _, answer := c.who.asks(c.method, c.params); !strings.Contains(answer, c.want) {
			t.Errorf("%s %s as %s: %s", c.method, c.params, c.who.key, answer)
		}
	}
	for _, key := range []string{"", "key-of-mallory-0123"} {
		if status, answer := (person{s, key}).asks("tools/list", ""); status != http.StatusUnauthorized || strings.Contains(answer, "invoice") {
			t.Errorf("with the key %q: %d %s", key, status, answer)
		}
	}
}

func TestPoliciesOfTheTeamFollowTheirFile(t *testing.T) {
	t.Parallel()
	f := example(t, "team")
	s := f.serve()
	bob := person{s, "key-of-bob-0123456789"}
	if got := bob.sees(); got != "invoice_list invoice_pay" {
		t.Errorf("bob sees %q", got)
	}
	f.write("policies.hcl", strings.Replace(f.read("policies.hcl"), "'board' not in", "'finance' not in", 1))
	again, late := time.NewTicker(20*time.Millisecond), time.After(maxWait)
	defer again.Stop()
	for bob.sees() != "invoice_delete invoice_list invoice_pay" {
		select {
		case <-again.C:
		case <-late:
			t.Fatalf("bob sees %q\n%s", bob.sees(), s.log)
		}
	}
}
