package examples_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hatchel/internal/proxytest"
	"hatchel/runtime/durable/postgres/postgrestest"
)

var update = flag.Bool("update", false, "rewrite the tables and transcripts of the documentation")

// exam is one way in which the official suite is run.
type exam struct {
	args     []string
	scored   int // scenarios that the suite counts
	unscored int // scenarios that it runs beside them
}

func (e exam) String() string { return strings.Join(e.args, " ") }

var exams = []exam{
	{[]string{"--requirements", "2025-11-25"}, 30, 3},
	{[]string{"--requirements", "2026-07-28"}, 37, 13},
	{[]string{"--suite", "all"}, 65, 0},
}

// unneeded are checks that come to nothing, and why nothing is missing.
var unneeded = map[string]string{
	"tasks-status-notifications":    "the suite has no test of them yet",
	"server-sse-streams-functional": "an answer that is ready at once is a document, and no stream",
	"outgoing-request":              "the suite's own journal",
	"incoming-response":             "the suite's own journal",
	"incoming-sse-event":            "the suite's own journal",
	"stream-closed":                 "the suite's own journal",
}

// hurried are scenarios with windows of a second and less, in which a busy machine may not get to its work. One that fails is run again, alone.
var hurried = map[string]string{
	"server-stateless":         "2026-07-28",
	"server-session-lifecycle": "2025-11-25", // one process tells the others that a client has ended its session
}

// examined is what one check of a scenario came to.
type examined struct {
	ID     string
	Status string
	Error  string `json:"errorMessage"`
}

// findings are the checks of every scenario of a run.
type findings map[string][]examined

var stamp = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z$`)

// examine runs the official suite against a URL, and keeps its results in a directory. It also returns what the suite
// has printed.
func examine(dir, url string, args ...string) (findings, string, error) {
	words := strings.Fields(os.Getenv("HATCHEL_TEST_CONFORMANCE"))
	words = append(words, "server", "--url", url, "--timeout", "120000", "-o", dir)
	cmd := exec.Command(words[0], append(words[1:], args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		return nil, "", err
	}
	folders, err := os.ReadDir(dir)
	if err != nil {
		return nil, "", err
	}
	found := findings{}
	for _, f := range folders {
		m := stamp.FindStringSubmatch(f.Name())
		if m == nil {
			return nil, "", fmt.Errorf("the suite has left %s", f.Name())
		}
		src, err := os.ReadFile(filepath.Join(dir, f.Name(), "checks.json"))
		if err != nil {
			return nil, "", err
		}
		var checks []examined
		if err := json.Unmarshal(src, &checks); err != nil {
			return nil, "", fmt.Errorf("%s: %w", f.Name(), err)
		}
		found[m[1]] = checks
	}
	return found, string(out), nil
}

// wrong are the checks of a scenario that should have come to something else. Those in but are not looked at.
func wrong(checks []examined, but map[string]string) (said []string) {
	for _, c := range checks {
		if _, excluded := reason(but, c.ID); excluded {
			continue
		}
		switch c.Status {
		case "SUCCESS":
			continue
		case "SKIPPED", "INFO":
			if _, known := reason(unneeded, c.ID); known {
				continue
			}
		}
		said = append(said, fmt.Sprintf("%s: %s %s", c.Status, c.ID, c.Error))
	}
	return said
}

// reason is what a list says of a name, or of what the name begins with.
func reason(list map[string]string, name string) (string, bool) {
	for prefix, why := range list {
		if strings.HasPrefix(name, prefix) {
			return why, true
		}
	}
	return "", false
}

// again runs the scenarios once more that were too fast for the machine.
func (found findings) again(t *testing.T, url string, but map[string]string) {
	t.Helper()
	for name, revision := range hurried {
		for try := 0; try < 3 && len(wrong(found[name], but)) > 0; try++ {
			t.Logf("%s is run again: %q", name, wrong(found[name], but))
			once, _, err := examine(t.TempDir(), url, "--scenario", name, "--spec-version", revision)
			if err != nil {
				t.Fatal(err)
			}
			found[name] = once[name]
		}
	}
}

var notScored = regexp.MustCompile(`(?m)^Not scored for \S+: (\d+) scenario`)

// complete checks that every scenario of an exam was run.
func (found findings) complete(t *testing.T, e exam, printed string) {
	t.Helper()
	unscored := 0
	if m := notScored.FindStringSubmatch(printed); m != nil {
		unscored, _ = strconv.Atoi(m[1])
	}
	if len(found) != e.scored+e.unscored || unscored != e.unscored {
		t.Errorf("%s: %d scenarios were run, %d of them not scored:\n%s", e, len(found), unscored, printed)
	}
	for name, checks := range found {
		if len(checks) == 0 {
			t.Errorf("%s: %s has checked nothing", e, name)
		}
	}
}

// count is how many checks came to a status, less those in but.
func (found findings) count(status string, but map[string]string) (n int) {
	for _, checks := range found {
		for _, c := range checks {
			if _, excluded := reason(but, c.ID); !excluded && c.Status == status {
				n++
			}
		}
	}
	return n
}

// row is a line of the table in docs/conformance.md.
func (e exam) row(over string, found findings, but map[string]string) string {
	passed := 0
	for _, checks := range found {
		if len(wrong(checks, but)) == 0 {
			passed++
		}
	}
	return fmt.Sprintf("| `%s` | %s | %d of %d | %d | %d | %d | %d |\n", e, over, passed, len(found),
		found.count("SUCCESS", but), found.count("FAILURE", but), found.count("WARNING", but), found.count("SKIPPED", but))
}

const head = "| run | over | scenarios passed | checks passed | failed | warnings | skipped |\n|---|---|---|---|---|---|---|\n"

var table = regexp.MustCompile(regexp.QuoteMeta(head) + `(?:\|.*\n)*`)

// shows checks that the table in docs/conformance.md has a row, or writes it there.
func shows(t *testing.T, row string) {
	t.Helper()
	src, err := os.ReadFile("../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	at := table.FindIndex(src)
	if at == nil {
		t.Fatalf("docs/conformance.md has no table that begins with\n%s", head)
	}
	if strings.Contains(string(src[at[0]:at[1]]), row) {
		return
	}
	if !*update {
		t.Errorf("docs/conformance.md does not show this; go test ./examples -run Conformance -update writes it:\n%s", row)
		return
	}
	rows := strings.SplitAfter(string(src[at[0]:at[1]]), "\n")
	key := strings.Join(strings.Split(row, "|")[:3], "|") + "|"
	if i := slices.IndexFunc(rows, func(line string) bool { return strings.HasPrefix(line, key) }); i >= 0 {
		rows[i] = row
	} else {
		rows = append(rows, row)
	}
	src = slices.Concat(src[:at[0]], []byte(strings.Join(rows, "")), src[at[1]:])
	if err := os.WriteFile("../docs/conformance.md", src, 0o644); err != nil {
		t.Fatal(err)
	}
}

func needsSuite(t *testing.T) {
	t.Helper()
	if os.Getenv("HATCHEL_TEST_CONFORMANCE") == "" {
		t.Skip("HATCHEL_TEST_CONFORMANCE does not say how to run the conformance suite")
	}
}

// sitting is one exam over one transport, with a server of its own.
type sitting struct {
	exam
	over      string
	url       string
	scenarios map[string]string // those that are not looked at
	checks    map[string]string // those within other scenarios that are not looked at
}

// sittings starts a server for each exam and transport.
func sittings(t *testing.T) (all []sitting) {
	t.Helper()
	for _, e := range exams {
		all = append(all, sitting{exam: e, over: "HTTP", url: example(t, "conformance").serve().url})
	}
	for _, e := range exams[:2] {
		all = append(all, sitting{exam: e, over: "stdio", url: example(t, "conformance").overStdio(),
			scenarios: aboutHTTP, checks: ofHTTP})
	}
	for _, e := range exams[:2] {
		all = append(all, sitting{exam: e, over: "HTTP, three processes", url: replicated(t)})
	}
	return all
}

// replicated starts three processes with one state behind a proxy that sends each request to the next of them.
func replicated(t *testing.T) string {
	t.Helper()
	f := example(t, "conformance")
	f.write("state.hcl", "secret \"state\" { env = \"STATE\" }\nstate { postgres = secret.state }\n")
	database, _ := postgrestest.Schema(t)
	f.env = append(f.env, "STATE="+database)
	var backends []string
	for range 3 {
		u, err := url.Parse(f.serve().url)
		if err != nil {
			t.Fatal(err)
		}
		backends = append(backends, u.Host)
	}
	return proxytest.Start(t, nil, backends...).URL + "/mcp"
}

// The suite waits most of the time, so exams are taken at once, each with a server of its own.
func TestTheOfficialConformanceSuitePasses(t *testing.T) {
	t.Parallel()
	needsSuite(t)
	const atOnce = 4
	type result struct {
		found   findings
		printed string
		err     error
	}
	all := sittings(t)
	places, results := make(chan struct{}, atOnce), make([]chan result, len(all))
	for i, s := range all {
		results[i] = make(chan result, 1)
		dir := t.TempDir()
		go func() {
			places <- struct{}{}
			found, printed, err := examine(dir, s.url, s.args...)
			<-places
			results[i] <- result{found, printed, err}
		}()
	}
	taken := make([]result, len(all))
	for i := range all {
		taken[i] = <-results[i]
	}
	for i, s := range all {
		t.Run(s.over+" "+s.String(), func(t *testing.T) {
			if taken[i].err != nil {
				t.Fatal(taken[i].err)
			}
			s.judge(t, taken[i].found, taken[i].printed)
		})
	}
}

// judge checks what an exam came to, and that the documentation shows it.
func (s sitting) judge(t *testing.T, found findings, printed string) {
	found.complete(t, s.exam, printed)
	for name := range s.scenarios {
		delete(found, name)
	}
	found.again(t, s.url, s.checks)
	for name, checks := range found {
		for _, said := range wrong(checks, s.checks) {
			t.Errorf("%s: %s", name, said)
		}
	}
	if !t.Failed() {
		shows(t, s.row(s.over, found, s.checks))
	}
}

func TestTheDocumentationNamesTheInstalledVersionOfTheSuite(t *testing.T) {
	needsSuite(t)
	t.Parallel()
	words := append(strings.Fields(os.Getenv("HATCHEL_TEST_CONFORMANCE")), "--version")
	out, err := exec.Command(words[0], words[1:]...).Output()
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile("../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	if version := bytes.TrimSpace(out); !bytes.Contains(src, slices.Concat([]byte("conformance@"), version, []byte("`"))) {
		t.Errorf("docs/conformance.md does not name conformance@%s", version)
	}
}
