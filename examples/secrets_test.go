package examples_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/test/testblock"
	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/runtime/durable/postgres/postgrestest"
	"hatchel/runtime/observe/trace/tracetest"
)

// TestNoSecretOfAnExampleIsSeenByWhoWatchesIt finds the examples that have a secret, a sensitive input or keys of callers. It
// calls what their own test blocks call, with these blocks' arguments and with secrets in their place, while everything
// that shows calls is switched on. It then looks for the secrets in all that was shown.
func TestNoSecretOfAnExampleIsSeenByWhoWatchesIt(t *testing.T) {
	t.Parallel()
	dirs := map[string]bool{}
	for _, pattern := range []string{"*/*.hcl", "*/*/*.hcl"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			dirs[filepath.Dir(file)] = true
		}
	}
	delete(dirs, "testdata")
	found := 0
	for dir := range dirs {
		cfg, tests := loadTests(t, dir)
		if len(secretVariables(cfg)) == 0 && len(sensitiveValues(t, cfg, tests)) == 0 && cfg.Auth == nil {
			continue
		}
		found++
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			w := watch(t, dir, cfg, tests)
			w.callAll(tests)
			w.look()
		})
	}
	if found < 8 {
		t.Errorf("only %d examples have secrets", found)
	}
}

// loadTests loads an example, and its test blocks.
func loadTests(t *testing.T, dir string) (*hcl.Config, []*testblock.Test) {
	t.Helper()
	cfg, diags := hcl.Load(os.DirFS(dir), all.Set().Kinds(), hcl.Options{Dir: dir, UnsetVars: true}.ForTests(nil, false))
	if diags.HasErrors() {
		t.Fatalf("%s: %v", dir, diags)
	}
	tests, diags := testblock.Decode(cfg, cfg.Tests)
	if diags.HasErrors() {
		t.Fatalf("%s: %v", dir, diags)
	}
	return cfg, tests
}

var secretVariable = regexp.MustCompile(`(?m)^secret "\w+" \{\s*env\s*= "(\w+)"`)

// secretVariables are the environment variables that hold the secrets of a configuration.
func secretVariables(cfg *hcl.Config) (names []string) {
	for _, src := range cfg.Sources {
		for _, m := range secretVariable.FindAllSubmatch(src, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names
}

// sensitiveValues are the values that test blocks have for sensitive inputs. Each sensitive input has one.
func sensitiveValues(t *testing.T, cfg *hcl.Config, tests []*testblock.Test) (values []string) {
	t.Helper()
	for _, tool := range cfg.Tools {
		for _, input := range tool.Input.Members {
			if !input.Type.Sensitive {
				continue
			}
			before := len(values)
			for _, test := range tests {
				if text, ok := test.Args[input.Name].(string); ok && test.Tool == tool && len(text) > 8 {
					values = append(values, text)
				}
			}
			if len(values) == before {
				t.Errorf("no test of %s has a value of more than 8 characters for its sensitive input %s", tool.Name, input.Name)
			}
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// watched is an example that is served with everything that shows its calls.
type watched struct {
	*folder
	server    *server
	sensitive []string // values of sensitive inputs
	secrets   []string // values of secrets
	hidden    []string // these, the keys of callers, and passwords within secrets
	caller    person
	operator  person
	service   *echo
	collector *tracetest.Receiver
	calls     int
}

// watchBlocks are those that decide who sees what.
var watchBlocks = regexp.MustCompile(`(?ms)^(telemetry|events|console|audit|approvals) \{.*?^\}\n`)

var (
	groupOfRule = regexp.MustCompile(`'(\w+)' in caller\.groups`)
	urlVariable = regexp.MustCompile(`variable "(\w+_url)"`)
)

const callersKey, operatorsKey = "key-of-the-caller-0123456789", "key-of-the-operator-0123456789"

// watch serves an example. Its secrets are those of a real database where they are a DSN, and of a service that answers
// with all secrets where they are a URL.
func watch(t *testing.T, dir string, cfg *hcl.Config, tests []*testblock.Test) *watched {
	t.Helper()
	w := &watched{folder: example(t, dir), service: new(echo), collector: tracetest.New(t, nil)}
	web := httptest.NewServer(w.service)
	t.Cleanup(web.Close)
	w.sensitive = sensitiveValues(t, cfg, tests)
	w.hidden = append(slices.Clone(w.sensitive), callersKey, operatorsKey)
	w.env = []string{"OTEL_BSP_SCHEDULE_DELAY=20"}
	for _, name := range secretVariables(cfg) {
		secret := "secret-of-" + strings.ToLower(name) + "-0123456789abcdef"
		switch {
		case strings.HasSuffix(name, "_DSN"):
			w.hidden = append(w.hidden, secret)
			secret = w.database(secret)
		case strings.HasSuffix(name, "_URL"):
			secret = web.URL + hooksPath + secret
		}
		w.env, w.secrets = append(w.env, name+"="+secret), append(w.secrets, secret)
	}
	w.hidden = append(w.hidden, w.secrets...)
	w.service.said = slices.Concat(w.sensitive, w.secrets)

	if dir == "upstream" {
		w.args = append(w.args, "--var", "tracker="+startReviewedTracker(t, w.service.said)+"/mcp")
	}
	groups := map[string]bool{"admin": true}
	keys := func() (blocks string) {
		for name, key := range map[string]string{"caller": callersKey, "operator": operatorsKey} {
			blocks += fmt.Sprintf("  api_key %q {\n    sha256 = \"%x\"\n    groups = [\"%s\"]\n  }\n", name,
				sha256.Sum256([]byte(key)), strings.Join(slices.Collect(maps.Keys(groups)), `", "`))
		}
		return blocks
	}
	for _, src := range cfg.Sources {
		for _, m := range groupOfRule.FindAllSubmatch(src, -1) {
			groups[string(m[1])] = true
		}
	}
	for name, src := range cfg.Sources {
		for _, m := range urlVariable.FindAllSubmatch(src, -1) {
			w.args = append(w.args, "--var", string(m[1])+"="+web.URL)
		}
		src := watchBlocks.ReplaceAllString(string(src), "")
		w.write(name, strings.Replace(src, "\nauth {\n", "\nauth {\n"+keys(), 1))
	}
	blocks := fmt.Sprintf(`
		events {
		  allow   = "true"
		  results = "redacted"
		}
		approvals { allow = "true" }
		audit { file = "watched.jsonl" }
		console {
		  allow = "true"
		  try   = "call"
		}
		telemetry {
		  metrics { allow = "true" }
		  otlp {
		    endpoint = %q
		    traces   = 1
		    burst    = 10000
		  }
		}
		`, w.collector.URL)
	if cfg.Auth == nil {
		blocks += "auth {\n" + keys() + "}\n"
	}
	w.write("watched.hcl", blocks)
	w.server = w.serve("--log-level", "debug")
	w.caller, w.operator = person{w.server, callersKey}, person{w.server, operatorsKey}
	return w
}

// database returns the DSN of a database with the tables of the example. Its password is a secret.
func (w *watched) database(password string) string {
	w.t.Helper()
	dsn, db := postgrestest.Schema(w.t)
	if schema, err := os.ReadFile(w.file("schema.sql")); err == nil {
		mustExec(w.t, db, string(schema))
	}
	u, err := url.Parse(dsn)
	if err != nil {
		w.t.Fatal(err)
	}
	u.User = url.UserPassword(u.User.Username(), password)
	return u.String()
}

// hooksPath is where the URLs of webhooks begin.
const hooksPath = "/hooks/"

// echo is a service that answers with all secrets, with success and with errors in turn.
type echo struct {
	said     []string
	answered atomic.Int64

	mu    sync.Mutex
	hooks strings.Builder // bodies of webhooks; guarded by mu
}

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if strings.HasPrefix(r.URL.Path, hooksPath) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.hooks.Write(body)
		return
	}
	answer, _ := json.Marshal(map[string]any{"orders": e.said, "headers": r.Header, "body": string(body)})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader([]int{200, 404, 201, 500}[e.answered.Add(1)%4])
	w.Write(answer)
}

// callAll calls what the test blocks call, while an operator approves whatever waits for it.
func (w *watched) callAll(tests []*testblock.Test) {
	w.t.Helper()
	w.watchedPage("/events?follow=false", "") // from now on events are recorded
	done := make(chan struct{})
	var approving sync.WaitGroup
	approving.Go(func() { w.approveUntil(done) })
	for _, test := range slices.SortedStableFunc(slices.Values(tests), w.compareSensitive) {
		for _, args := range w.variants(test) {
			switch w.calls++; test.Kind {
			case "tool":
				w.caller.asks("tools/call", fmt.Sprintf(`"name":%q,"arguments":%s,`, test.Target, args))
			case "prompt":
				w.caller.asks("prompts/get", fmt.Sprintf(`"name":%q,"arguments":%s,`, test.Target, args))
			case "resource":
				w.caller.asks("resources/read", fmt.Sprintf(`"uri":%q,`, test.Target))
			}
		}
	}
	w.caller.asks("tools/call", `"name":"ping","arguments":{},`) // of examples without tests
	for _, secret := range w.secrets {
		w.caller.asks("tools/call", fmt.Sprintf(`"name":%q,"arguments":{},`, secret))
		person{w.server, secret}.asks("tools/list", "")
	}
	close(done)
	approving.Wait()
}

// compareSensitive sorts tests with sensitive values last. A database may keep them, and they are not sensitive in the calls
// of other tools.
func (w *watched) compareSensitive(a, b *testblock.Test) int {
	return len(w.sensitiveIn(a)) - len(w.sensitiveIn(b))
}

// sensitiveIn are the sensitive values among the arguments of a test.
func (w *watched) sensitiveIn(test *testblock.Test) (values []string) {
	for _, given := range test.Args {
		if text, ok := given.(string); ok && slices.Contains(w.sensitive, text) {
			values = append(values, text)
		}
	}
	return values
}

// variants are the arguments of a test; with each secret in the place of each text that is not sensitive; and with the
// sensitive ones in wrong forms.
func (w *watched) variants(test *testblock.Test) (all []string) {
	w.t.Helper()
	add := func(name string, v any) {
		args := map[string]any{name: v}
		for other, given := range test.Args {
			if other != name {
				args[other] = given
			}
		}
		encoded, err := value.AppendJSON(nil, args)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, string(encoded))
	}
	sensitive := w.sensitiveIn(test)
	for name, given := range test.Args {
		text, isText := given.(string)
		add(name, given)
		switch {
		case slices.Contains(sensitive, text):
			add(name, strings.ToLower(text))
			add(name, []any{text})
			add(name+"n", text)
		case isText:
			for _, hidden := range slices.Concat(sensitive, w.secrets) {
				add(name, hidden)
			}
		}
	}
	for _, secret := range w.secrets {
		add(secret, secret)
	}
	return append(all, "{}")
}

// approveUntil approves what waits, with a secret as the reason.
func (w *watched) approveUntil(done <-chan struct{}) {
	reason, _ := json.Marshal(map[string]string{"reason": "as in " + strings.Join(w.secrets, " ")})
	for again := time.NewTicker(20 * time.Millisecond); ; {
		select {
		case <-again.C:
		case <-done:
			return
		}
		var pending struct{ Approvals []struct{ ID string } }
		_, listed := w.server.knock(http.MethodGet, "/approvals?status=pending", "", "X-Api-Key", operatorsKey)
		if err := json.Unmarshal([]byte(listed), &pending); err != nil {
			w.t.Errorf("%v in %s", err, listed)
		}
		for _, a := range pending.Approvals {
			w.server.knock(http.MethodPost, "/approvals/"+a.ID+"/approve", string(reason), "X-Api-Key", operatorsKey)
		}
	}
}

// watchedPage is what the operator reads at a path.
func (w *watched) watchedPage(path, accept string) string {
	w.t.Helper()
	res, text := w.server.knock(http.MethodGet, path, "", "X-Api-Key", operatorsKey, "Accept", accept)
	if res.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %s %s", path, res.Status, text)
	}
	return text
}

// look searches all that is shown of the calls.
func (w *watched) look() {
	w.t.Helper()
	eventually(w.t, "the spans of calls are sent", func() bool { return len(w.collector.Spans()) >= w.calls })
	eventually(w.t, "the calls are logged", func() bool { return strings.Contains(w.server.log.String(), "call answered") })
	_, _, spans := w.collector.Requests()
	shown := map[string]string{
		"the stream of events": w.watchedPage("/events?follow=false", "text/event-stream"),
		"the lines of events":  w.watchedPage("/events?follow=false", "application/x-ndjson"),
		"the metrics":          w.watchedPage("/metrics", ""),
		"readyz":               w.watchedPage("/readyz", ""),
		"the spans":            spans,
		"the console":          w.consolePages(w.server),
		"the audit log":        w.read("watched.jsonl"),
		"the log":              w.server.log.String(),
	}
	w.service.mu.Lock()
	shown["webhooks"] = w.service.hooks.String()
	w.service.mu.Unlock()
	for _, hidden := range w.hidden {
		for _, form := range formsOf(hidden) {
			for place, text := range shown {
				if i := strings.Index(text, form); i >= 0 {
					w.t.Errorf("%s: %s is in %s", place, form, text[max(0, i-300):min(len(text), i+100)])
				}
			}
		}
	}
	for place, text := range map[string]string{
		"the stream of events": "event: tool_result", "the lines of events": `"type":"tool_result"`,
		"the metrics": "hatchel_calls_total", "the audit log": `"event":"call"`, "the log": "call answered",
		"the console": "/console/calls",
	} {
		if !strings.Contains(shown[place], text) {
			w.t.Errorf("%s: there is no %s", place, text)
		}
	}
}

// formsOf are the forms in which a text may be shown.
func formsOf(hidden string) []string {
	encoded, _ := json.Marshal(hidden)
	forms := []string{hidden, strings.ToLower(hidden), url.QueryEscape(hidden), html.EscapeString(hidden),
		strings.Trim(string(encoded), `"`), base64.RawStdEncoding.EncodeToString([]byte(hidden))[:len(hidden)]}
	slices.Sort(forms)
	return slices.Compact(forms)
}

var consoleLink = regexp.MustCompile(`href="(/console/[^"#]*)"`)

// consolePages are the pages of a server that the operator reaches in the console by links.
func (f *folder) consolePages(s *server) string {
	f.t.Helper()
	origin := strings.TrimSuffix(s.url, "/mcp")
	cmd := f.command("console", "--server", origin, "--print")
	cmd.Env = append(cmd.Env, "HATCHEL_KEY="+operatorsKey)
	address, err := cmd.Output()
	if err != nil {
		f.t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		f.t.Fatal(err)
	}
	browser := &http.Client{Transport: pooled.Transport, Jar: jar, Timeout: maxWait}
	var pages strings.Builder
	queue, seen := []string{strings.TrimSpace(string(address))}, map[string]bool{}
	for ; len(queue) > 0 && len(seen) < 200; queue = queue[1:] {
		res, err := browser.Get(queue[0])
		if err != nil {
			f.t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			f.t.Fatal(err)
		}
		pages.Write(text)
		for _, m := range consoleLink.FindAllSubmatch(text, -1) {
			link := html.UnescapeString(string(m[1]))
			if !seen[link] {
				seen[link], queue = true, append(queue, origin+link)
			}
		}
	}
	return pages.String()
}
