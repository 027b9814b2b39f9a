package examples_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// scrape returns the metrics of the server, for the holder of a key, empty for nobody.
func (s *server) scrape(key string) string {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, strings.TrimSuffix(s.url, "/mcp")+"/metrics", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("X-Api-Key", key)
	}
	res, err := pooled.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("%s %v: %s", res.Status, err, body)
	}
	return string(body)
}

// scrapesOfExamples returns what the examples with metrics serve after some calls.
func scrapesOfExamples(t *testing.T) map[string]string {
	t.Helper()
	scrapes := map[string]string{}

	paid, _ := payments(t)
	paid.call("pay_order", map[string]any{"order": 7, "amount": 1250})
	for range 2 {
		paid.call("exchange_rate", map[string]any{"currency": "USD"})
	}
	scrapes["payments"] = paid.scrape("")

	f, _ := orders(t)
	f.traced("orders.hcl")
	shop := f.serve()
	shop.call("list_orders", map[string]any{})
	res, _ := shop.knock(http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
	shop.knock(http.MethodDelete, "/mcp", "", "Mcp-Session-Id", res.Header.Get("Mcp-Session-Id"))
	scrapes["orders"] = shop.scrape("")

	refunds, _ := refundShop(t)
	s := refunds.serve()
	said := s.asks("refund", refundOf(500))
	id, _ := refunds.waiting()
	refunds.decides("approve", id, "checked")
	<-said
	scrapes["approvals"] = s.scrape("")

	bugs := example(t, "upstream")
	bugs.write("metrics.hcl", "telemetry {\n  metrics {}\n}\n")
	bugs.env = []string{"TRACKER_TOKEN=0123456789abcdef"}
	bugs.args = []string{"--var", "tracker=" + startReviewedTracker(t, nil) + "/mcp"}
	tracked := bugs.serve()
	tracked.call("find_bugs", map[string]any{"words": "prices"})
	scrapes["upstream"] = tracked.scrape("")

	team := example(t, "team").serve()
	ada := person{team, "key-of-ada-0123456789"}
	ada.asks("tools/call", `"name":"invoice_list","arguments":{},`)
	person{team, "key-of-eva-0123456789"}.asks("tools/call", `"name":"invoice_delete","arguments":{"id":1},`)
	scrapes["team"] = team.scrape(ada.key)
	return scrapes
}

var metricName = regexp.MustCompile(`\b(?:mcp_server|hatchel|go|process)_[a-z_]+\b`)

// unserved are metrics of what no example has: a sign_in block needs a provider.
var unserved = []string{"hatchel_sign_ins_total"}

// TestTheMetricsOfTheDashboardAndTheAlertsAreServed compares the names in examples/grafana with what examples serve, and
// with the reference for what these cannot serve.
func TestTheMetricsOfTheDashboardAndTheAlertsAreServed(t *testing.T) {
	t.Parallel()
	scrapes := scrapesOfExamples(t)
	served := map[string]bool{}
	for name, text := range scrapes {
		for line := range strings.Lines(text) {
			served[metricName.FindString(strings.TrimPrefix(line, "# TYPE "))] = true
		}
		for _, secret := range []string{"DE02120300000000202051", "MfKQ9r8G", "key-of-", "127.0.0.1"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s: the metrics hold %s", name, secret)
			}
		}
	}
	reference, err := os.ReadFile("../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range unserved {
		if served[name] || !strings.Contains(string(reference), "`"+name+"`") {
			t.Errorf("%s is served, or the reference does not have it", name)
		}
	}
	for _, file := range []string{"dashboard.json", "alerts.yaml"} {
		src, err := os.ReadFile(filepath.Join("grafana", file))
		if err != nil {
			t.Fatal(err)
		}
		names := metricName.FindAllString(string(src), -1)
		if len(names) < 10 {
			t.Errorf("%s names only %q", file, names)
		}
		for _, name := range names {
			if !served[name] && !slices.Contains(unserved, name) {
				t.Errorf("%s names %s, which no example serves", file, name)
			}
		}
	}
	if !strings.Contains(scrapes["payments"], `hatchel_calls_total{kind="tool",name="exchange_rate",outcome="ok",replayed="cache"} 1`) {
		t.Errorf("payments:\n%s", scrapes["payments"])
	}
}

func TestEachAlertHasARowOnThePageForPeopleOnCall(t *testing.T) {
	t.Parallel()
	names := func(path, pattern string) (found []string) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(src), -1) {
			found = append(found, m[1])
		}
		return found
	}
	declared := names("grafana/alerts.yaml", `- alert: (\w+)`)
	described := names("../docs/on-call.md", "(?m)^\\| `(Hatchel\\w+)` \\|")
	if !slices.Equal(declared, described) {
		t.Errorf("the alerts are %q, and the page has %q", declared, described)
	}
}

func TestPromtoolAcceptsTheMetricsAndTheAlerts(t *testing.T) {
	t.Parallel()
	promtool := needs(t, "HATCHEL_TEST_PROMTOOL")
	check := func(stdin string, args ...string) {
		t.Helper()
		cmd := exec.Command(promtool, args...)
		cmd.Dir, cmd.Stdin = "grafana", strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v\n%s", args, err, out)
		}
	}
	check("", "check", "rules", "alerts.yaml")
	check("", "test", "rules", "alerts_test.yaml")
	for _, text := range scrapesOfExamples(t) {
		check(text, "check", "metrics")
	}
}

func TestPromtoolAcceptsTheScrapeConfigurationOfTheGuide(t *testing.T) {
	t.Parallel()
	promtool, n := needs(t, "HATCHEL_TEST_PROMTOOL"), 0
	for _, f := range readPage(t, "../docs/monitoring.md").fences("yaml") {
		if !strings.Contains(f.text, "scrape_configs:") {
			continue
		}
		n++
		cmd := exec.Command(promtool, "check", "config", "--syntax-only", "/dev/stdin")
		cmd.Stdin = strings.NewReader(f.text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s%v\n%s", f.text, err, out)
		}
	}
	if n != 1 {
		t.Errorf("the guide has %d scrape configurations", n)
	}
}
