package examples_test

import (
	"net/http"
	"strings"
	"testing"
)

// The state is a file here: only the credentials are tried.
func TestPrometheusReadsTheMetricsOfAPodWithItsKeyOnly(t *testing.T) {
	t.Parallel()
	const prometheus, client = "a key of Prometheus, 24 bytes", "a key of a client, 22 bytes"
	monitor := example(t, "kubernetes").read("servicemonitor.yaml")
	if !strings.Contains(monitor, "key: PROMETHEUS_KEY") {
		t.Errorf("the monitor does not use PROMETHEUS_KEY:\n%s", monitor)
	}
	f := example(t, "kubernetes/tools")
	f.write("tools.hcl", strings.Replace(f.read("tools.hcl"), "postgres = secret.state", `sqlite = "state.db"`, 1))
	f.env = []string{"STATE_DSN=postgres://hatchel@db.example/hatchel", "HATCHEL_KEY=" + client, "PROMETHEUS_KEY=" + prometheus}
	address := strings.TrimSuffix(f.serve("--listen", ":0").url, "/mcp") + "/metrics"
	for key, want := range map[string]int{prometheus: http.StatusOK, client: http.StatusForbidden, "": http.StatusUnauthorized} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if key != "" {
			req.Header.Set("Authorization", "Bearer "+key)
		}
		res, err := pooled.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("with the key %q: %s, not %d", key, res.Status, want)
		}
	}
}
