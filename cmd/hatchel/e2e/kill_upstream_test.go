package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hatchel/adapters/mcp/client/mcptest"
	"hatchel/adapters/mcp/definition/definitiontest"
)

// payMode makes the test binary an MCP server that pays, over its standard input and output. The word after it is the
// file to which it appends what it has paid.
const payMode = "mcp-pay"

// The tool of an MCP server that pays says how often the order was paid then.
const payDefinition = `{"name":"pay","inputSchema":{"type":"object","properties":{"order":{"type":"string"},` +
	`"key":{"type":"string"}},"required":["order","key"]},"outputSchema":{"type":"object","properties":{` +
	`"times":{"type":"integer"}},"required":["times"]}}`

// upstreamPaymentTools are the ways to pay by MCP servers, with a key: one over HTTP, and one that is a program.
const upstreamPaymentTools = `
connection "mcp" "bank" {
  url         = "$UPSTREAM"
  definitions = "bank.tools.json"
}
connection "mcp" "desk" {
  command     = ["$BINARY", "$MODE", "$PAID"]
  definitions = "bank.tools.json"
  sandbox {
    read  = ["$BINARY"]
    write = ["$PAID"]
  }
}
tool "transfer" {
  description = "Pay an order at an MCP server."
  input "order" { type = string }
  idempotency {}
  mcp "bank" {
    call                 = "pay"
    arguments            = { order = input.order }
    idempotency_argument = "key"
  }
  text = "paid ${input.order} ${output.structured.times} times"
}
tool "wire" {
  description = "Pay an order by a program."
  input "order" { type = string }
  idempotency {}
  mcp "desk" {
    call                 = "pay"
    arguments            = { order = input.order }
    idempotency_argument = "key"
  }
  text = "paid ${input.order} ${output.structured.times} times"
}
`

// newPayServer returns an MCP server that pays. It does not answer if pay returns 0.
func newPayServer(pay func(order, key string) (times int)) *mcptest.Server {
	s := &mcptest.Server{Era: mcptest.Legacy, Stateful: true}
	s.SetTools(payDefinition)
	s.Handle("pay", func(c *mcptest.Call) (any, error) {
		var in struct{ Order, Key string }
		if err := json.Unmarshal(c.Arguments, &in); err != nil {
			return nil, err
		}
		times := pay(in.Order, in.Key)
		if times == 0 {
			<-c.Context.Done()
			return nil, c.Context.Err()
		}
		return mcptest.Structured(map[string]int{"times": times}), nil
	})
	return s
}

// servePayments is the MCP server of payMode.
func servePayments(name string) error {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	s := newPayServer(func(order, key string) int {
		if _, err := fmt.Fprintln(file, order, key); err != nil {
			return 0
		}
		all, err := os.ReadFile(name)
		if err != nil {
			return 0
		}
		return strings.Count("\n"+string(all), "\n"+order+" ")
	})
	s.ServeStdio(context.Background(), os.Stdin, os.Stdout)
	return nil
}

// writeUpstreams writes the tools that pay at MCP servers.
func (c *killTest) writeUpstreams(t *testing.T) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.desk = filepath.Join(t.TempDir(), "paid-"+strconv.FormatInt(time.Now().UnixNano(), 10))
	tools := strings.NewReplacer("$UPSTREAM", newPayServer(c.bank.carryOut).Start(t), "$BINARY", binary, "$MODE", payMode,
		"$PAID", c.desk).Replace(upstreamPaymentTools)
	for name, text := range map[string]string{
		c.desk: "", filepath.Join(c.dir, "upstreams.hcl"): tools,
		filepath.Join(c.dir, "bank.tools.json"): definitiontest.Text(t, payDefinition),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// addProgramPayments adds what the program has paid to what the service has.
func (c *killTest) addProgramPayments() {
	c.t.Helper()
	text, err := os.ReadFile(c.desk)
	if err != nil {
		c.t.Fatal(err)
	}
	c.bank.mu.Lock()
	defer c.bank.mu.Unlock()
	for line := range strings.Lines(string(text)) {
		order, key, _ := strings.Cut(strings.TrimSpace(line), " ")
		c.bank.paid[order]++
		c.bank.keys[key]++
	}
}

// awaitNoPrograms waits until no process of the program is left.
func (c *killTest) awaitNoPrograms() {
	c.t.Helper()
	await(c.t.(*testing.T), func() bool { return countWith(c.desk) == 0 })
}
