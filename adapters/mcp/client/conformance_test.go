package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/adapters/mcp/client"
	"hatchel/internal/sampletest"
)

// clientScenarios are those of the official suite for clients, with the revision at which each is run. Sign-in with a
// browser (auth/…) is left out, and so is elicitation-sep1034-client-defaults: the user of a call fills in forms, and not
// this client.
var clientScenarios = []struct{ name, revision string }{
	{"initialize", client.Revision20250618},
	{"initialize", client.Revision20251125},
	{"tools_call", client.Revision20250618},
	{"tools_call", client.Revision20251125},
	{"tools_call", client.Revision20260728},
	{"sse-retry", client.Revision20251125},
	{"request-metadata", client.Revision20260728},
	{"sep-2322-client-request-state", client.Revision20260728},
	{"http-standard-headers", client.Revision20260728},
	{"http-custom-headers", client.Revision20260728},
	{"http-invalid-tool-headers", client.Revision20260728},
	{"json-schema-ref-no-deref", client.Revision20260728},
	{"json-schema-2020-12-preservation", client.Revision20251125},
	{"json-schema-2020-12-preservation", client.Revision20260728},
}

// The environment of a client of the suite.
const (
	scenarioVariable = "MCP_CONFORMANCE_SCENARIO"
	contextVariable  = "MCP_CONFORMANCE_CONTEXT"
)

// TestTheOfficialSuitePassesTheClient has the suite run this test again as its client, for each scenario.
func TestTheOfficialSuitePassesTheClient(t *testing.T) {
	words := strings.Fields(os.Getenv("HATCHEL_TEST_CONFORMANCE"))
	if len(words) == 0 {
		t.Skip("HATCHEL_TEST_CONFORMANCE does not say how to run the conformance suite")
	}
	for _, s := range sampletest.Of(t, 6, clientScenarios) {
		t.Run(s.name+" "+s.revision, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			args := append(words[1:len(words):len(words)], "client", "--command",
				os.Args[0]+" -test.run=^TestScenarioOfTheOfficialSuite$ -test.v", "--scenario", s.name, "--spec-version",
				s.revision, "--timeout", "60000", "-o", dir)
			out, err := exec.CommandContext(t.Context(), words[0], args...).CombinedOutput()
			if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			checks := readChecks(t, dir)
			for _, c := range checks {
				if c.Status == "FAILURE" || c.Status == "WARNING" {
					t.Errorf("%s: %s %s", c.Status, c.ID, c.Error)
				}
			}
			if len(checks) == 0 || t.Failed() {
				t.Errorf("the suite has printed:\n%s", out)
			}
		})
	}
}

// check is one check of a scenario.
type check struct {
	ID     string
	Status string
	Error  string `json:"errorMessage"`
}

// readChecks reads what a scenario has checked.
func readChecks(t *testing.T, dir string) (checks []check) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return json.Unmarshal(src, &checks)
	})
	if err != nil {
		t.Fatal(err)
	}
	return checks
}

// TestScenarioOfTheOfficialSuite is the client of a scenario, which the suite starts with the URL of its server.
func TestScenarioOfTheOfficialSuite(t *testing.T) {
	scenario, url := os.Getenv(scenarioVariable), flag.Arg(0)
	if scenario == "" {
		t.Skip("the suite starts this test")
	}
	ctx := testContext(t)
	rt := client.NewRoundTripper(nil)
	defer rt.CloseIdleConnections()
	s, err := client.Open(ctx, client.NewHTTP(client.HTTPConfig{URL: url, RoundTripper: rt}),
		client.Options{Asks: []string{client.AskForm}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if scenario == "request-metadata" || scenario == "initialize" {
		return
	}
	list, err := s.Tools(ctx)
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[string]json.RawMessage{}
	for _, d := range list.Tools {
		var tool struct {
			InputSchema json.RawMessage `json:"inputSchema"`
		}
		if err := json.Unmarshal(d.Raw, &tool); err != nil {
			t.Fatal(err)
		}
		schemas[d.Name] = tool.InputSchema
	}
	for _, c := range scenarioCalls(t, scenario, list, schemas) {
		mirrored, err := client.MirroredArguments(schemas[c.Name])
		if err != nil {
			t.Logf("%s is not called: %v", c.Name, err)
			continue
		}
		r := &client.Request{Name: c.Name, Arguments: c.Arguments, Mirrored: mirrored}
		if err := callScenario(ctx, s, r); err != nil {
			t.Logf("%s: %v", c.Name, err)
		}
	}
}

// scenarioCall is a call that a scenario wants.
type scenarioCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// scenarioCalls returns the calls of a scenario.
func scenarioCalls(
	t *testing.T, scenario string, list client.List, schemas map[string]json.RawMessage,
) (calls []scenarioCall) {
	t.Helper()
	switch scenario {
	case "tools_call":
		return []scenarioCall{{"add_numbers", json.RawMessage(`{"a":5,"b":3}`)}}
	case "json-schema-2020-12-preservation":
		schema := append([]byte(`{"schema":`), schemas["json_schema_2020_12_tool"]...)
		return []scenarioCall{{"json_schema_echo", append(schema, '}')}}
	case "json-schema-ref-no-deref":
		return nil
	case "http-custom-headers", "http-invalid-tool-headers":
		var given struct {
			ToolCalls []scenarioCall `json:"toolCalls"`
		}
		if text := os.Getenv(contextVariable); text != "" {
			if err := json.Unmarshal([]byte(text), &given); err != nil {
				t.Fatal(err)
			}
		}
		if given.ToolCalls != nil {
			return given.ToolCalls
		}
	}
	for _, d := range list.Tools {
		calls = append(calls, scenarioCall{d.Name, json.RawMessage("{}")})
	}
	return calls
}

// callScenario calls a tool, and confirms what its server asks.
func callScenario(ctx context.Context, s *client.Session, r *client.Request) error {
	confirmed := client.Answer{Result: []byte(`{"action":"accept","content":{"confirmed":true}}`)}
	for {
		_, err := s.Call(ctx, r)
		required, ok := errors.AsType[*client.InputRequired](err)
		if !ok {
			return err
		}
		r.State, r.Responses = required.State, map[string]client.Answer{}
		for _, q := range required.Questions {
			r.Responses[q.Key] = confirmed
		}
	}
}
