package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/adapters/mcp/client/mcptest"
	"hatchel/adapters/mcp/definition/definitiontest"
	"hatchel/internal/proxytest"
)

const greetDefinition = `{"name":"greet","inputSchema":{"type":"object","properties":{"n":{"type":"string"}}}}`

// startGreeter starts an MCP server whose tool asks for a name and greets it.
func startGreeter(t *testing.T, era mcptest.Era) (url string) {
	t.Helper()
	s := &mcptest.Server{Era: era, Stateful: era == mcptest.Legacy}
	s.SetTools(greetDefinition)
	s.Handle("greet", func(c *mcptest.Call) (any, error) {
		var arguments struct{ N string }
		if err := json.Unmarshal(c.Arguments, &arguments); err != nil {
			return nil, err
		}
		question := mcptest.Form("Who is "+arguments.N, "name")
		answer, ok := c.Responses["who"]
		if era == mcptest.Modern && !ok {
			return mcptest.Required("of "+arguments.N, map[string]mcptest.Question{"who": question}), nil
		}
		if era == mcptest.Legacy {
			var err error
			if answer, err = c.Ask(question); err != nil {
				return nil, err
			}
		}
		var given struct{ Content struct{ Name string } }
		if err := json.Unmarshal(answer, &given); err != nil {
			return nil, err
		}
		return mcptest.Text("hello %s", given.Content.Name), nil
	})
	return s.Start(t)
}

// startGreeting starts three processes in front of an MCP server.
func startGreeting(t *testing.T, era mcptest.Era) (dir, database string, all []*replica) {
	t.Helper()
	database = emptySchema(t)
	dir = t.TempDir()
	config := fmt.Sprintf(postgresState+`
connection "mcp" "github" {
  url         = %q
  definitions = "github.tools.json"
  asks        = ["elicitation"]
}
tool "greet" {
  description = "Greet somebody."
  input "n" { type = optional(string, "nobody") }
  mcp "github" { call = "greet" }
}
`, startGreeter(t, era))
	for name, text := range map[string]string{"tools.hcl": config, "github.tools.json": definitiontest.Text(t, greetDefinition)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		all = append(all, startReplica(t, dir, database))
	}
	return dir, database, all
}

var upstreamEras = map[string]mcptest.Era{"legacy": mcptest.Legacy, "modern": mcptest.Modern}

// The user answers a question of an MCP server at another process than the one that was called.
func TestReplicasContinueCallsThatAnMCPServerAsksAbout(t *testing.T) {
	for name, era := range upstreamEras {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, all := startGreeting(t, era)
			answer := func(r *replica, state string) rpcResponse {
				return sendRPC(t, r.url, "tools/call", map[string]any{
					"name": "greet", "arguments": map[string]any{}, "requestState": state,
					"inputResponses": map[string]any{"github.1": map[string]any{"action": "accept", "content": map[string]any{"name": "Ada"}}},
				})
			}
			for i, r := range all {
				asked := callTool(t, r.url, "greet")
				if asked.Result.ResultType != "input_required" {
					t.Fatalf("%+v", asked)
				}
				if got := answer(all[(i+1)%3], asked.Result.RequestState); got.text() != "hello Ada" {
					t.Errorf("answered elsewhere: %+v", got)
				}
			}
			asked := callTool(t, all[0].url, "greet")
			all[0].kill()
			got := answer(all[2], asked.Result.RequestState).text()
			if lost := strings.Contains(got, "it is not known whether the call took effect"); era == mcptest.Legacy && !lost ||
				era == mcptest.Modern && got != "hello Ada" {
				t.Errorf("answered after a kill: %s", got)
			}
		})
	}
}

// Clients that are asked on their stream answer through a proxy whose backends take turns.
func TestReplicasAskLegacyClientsForAnMCPServer(t *testing.T) {
	for name, era := range upstreamEras {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, all := startGreeting(t, era)
			var addresses []string
			for _, r := range all {
				addresses = append(addresses, strings.TrimPrefix(r.url, "http://"))
			}
			url := proxytest.Start(t, nil, addresses...).URL
			for _, c := range connectAll(t, legacyKinds, url+"/mcp", 1) {
				for range 3 {
					n := nextNumber()
					if text, err := c.call("greet", n); err != nil || text != "hello "+n {
						t.Errorf("%s: %q, %v", n, text, err)
					}
				}
			}
		})
	}
}
