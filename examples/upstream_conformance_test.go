package examples_test

import (
	"fmt"
	"maps"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"hatchel/internal/sampletest"
)

// fronted is a conformance server that is examined alone and behind Hatchel.
type fronted struct {
	name     string
	revision string
	start    func(t *testing.T) string // returns its URL
}

func (f fronted) String() string { return f.name + " " + f.revision }

// frontedServers are the conformance servers of both SDKs, at both revisions. That of Go keeps sessions for the earlier
// revision, without which it cannot ask.
var frontedServers = []fronted{
	{"Go", "2025-11-25", func(t *testing.T) string { return startGoEverything(t, false) }},
	{"Go", "2026-07-28", func(t *testing.T) string { return startGoEverything(t, true) }},
	{"TypeScript", "2025-11-25", startTypeScriptEverything},
	{"TypeScript", "2026-07-28", startTypeScriptEverything},
}

// startGoEverything starts the conformance server of the Go SDK, which takes the address and does not choose it.
func startGoEverything(t *testing.T, stateless bool) string {
	t.Helper()
	program, err := goEverything()
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	url := startUpstream(t, exec.Command(program, "-http", address, fmt.Sprintf("-stateless=%t", stateless)))
	eventually(t, "the conformance server of Go listens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		conn.Close()
		return true
	})
	return url + "/mcp"
}

func startTypeScriptEverything(t *testing.T) string {
	t.Helper()
	return startUpstream(t, needsUpstreams(t).script(t, "everything-server.ts"))
}

// differs are scenarios that come to something else behind Hatchel than at the server alone, and why.
var differs = map[string]string{
	"resources-":                                    "resources of a server are not read",
	"prompts-":                                      "prompts of a server are not read",
	"completion-complete":                           "prompts of a server are not read",
	"input-required-result-non-tool-request":        "prompts of a server are not read",
	"input-required-result-basic-elicitation":       "questions have names of Hatchel, such as everything.1",
	"input-required-result-ignore-extra-params":     "questions have names of Hatchel, such as everything.1",
	"input-required-result-basic-list-roots":        "roots are a constant list, which Hatchel answers itself",
	"input-required-result-multiple-input-requests": "roots are a constant list, which Hatchel answers itself",
	"server-stateless":                              "tools that change at run time are not listed; what a tool requires of its client is written in its block",
	"tools-call-with-progress":                      "progress is passed on at most ten times a second",
	"elicitation-sep1330-enums":                     "titles of choices are written as oneOf, also where the server wrote enumNames",
	"json-schema-2020-12":                           "conditions between members are checked for each call, and are not part of a type",
	"http-custom-header-server-validation":          "an input is repeated in a header where its block says so",
}

// TestAServerBehindHatchelPassesWhatItPassesAlone imports every tool of a conformance server and examines both. What the
// server alone fails says nothing about Hatchel.
func TestAServerBehindHatchelPassesWhatItPassesAlone(t *testing.T) {
	t.Parallel()
	needsSuite(t)
	seen := make(chan string, 1000) // names of scenarios that differ
	sample := sampletest.Of(t, 2, frontedServers)
	t.Run("servers", func(t *testing.T) { testFronted(t, sample, seen) })
	close(seen)
	stale := maps.Clone(differs)
	for name := range seen {
		maps.DeleteFunc(stale, func(prefix, _ string) bool { return strings.HasPrefix(name, prefix) })
	}
	if len(sample) == len(frontedServers) && !t.Failed() && len(stale) > 0 {
		t.Errorf("these differ at no server: %q", slices.Sorted(maps.Keys(stale)))
	}
}

func testFronted(t *testing.T, servers []fronted, seen chan<- string) {
	for _, s := range servers {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			url := s.start(t)
			f := &folder{t: t, path: t.TempDir()}
			imported := f.run("import", "mcp", "everything", "--url", url, "--all", "--asks", "elicitation,sampling", "-o", ".")
			if imported.code != 0 {
				t.Fatalf("import: %+v", imported)
			}
			const logging = `call = "test_tool_with_logging"`
			blocks := f.read("everything.hcl")
			if !strings.Contains(blocks, logging) {
				t.Fatalf("no tool logs:\n%s", blocks)
			}
			blocks = strings.Replace(blocks, logging, logging+"\nforward_logs = \"debug\"", 1)
			const pinned = "definitions "
			f.write("everything.hcl", strings.Replace(blocks, pinned, fmt.Sprintf("protocol = %q\n%s", s.revision, pinned), 1))
			front := f.serve().url
			args := []string{"--requirements", s.revision}
			alone, _, err := examine(t.TempDir(), strings.Replace(url, "127.0.0.1", "localhost", 1), args...)
			if err != nil {
				t.Fatal(err)
			}
			behind, _, err := examine(t.TempDir(), front, args...)
			if err != nil {
				t.Fatal(err)
			}
			compareFindings(t, alone, behind, seen)
		})
	}
}

// compareFindings reports the scenarios that the server passes alone and not behind Hatchel. It sends the names of those
// that are expected.
func compareFindings(t *testing.T, alone, behind findings, seen chan<- string) {
	t.Helper()
	passed := 0
	for name, checks := range alone {
		why, expected := reason(differs, name)
		failed := failures(checks)
		found := failures(behind[name])
		switch {
		case len(failed) > 0:
		case len(behind[name]) == 0:
			t.Errorf("%s was not run", name)
		case len(found) == 0:
			passed++
		case expected:
			seen <- name
			t.Logf("%s differs: %s: %q", name, why, found)
		default:
			t.Errorf("%s: %q", name, found)
		}
	}
	const least = 15 // more than those that need no server behind
	if t.Logf("%d of %d scenarios pass behind Hatchel", passed, len(alone)); passed < least {
		t.Errorf("only %d of %d scenarios pass behind Hatchel", passed, len(alone))
	}
}

// failures are the checks that failed, or nearly.
func failures(checks []examined) (found []string) {
	for _, c := range checks {
		if c.Status == "FAILURE" || c.Status == "WARNING" {
			found = append(found, fmt.Sprintf("%s: %s %s", c.Status, c.ID, c.Error))
		}
	}
	return found
}
