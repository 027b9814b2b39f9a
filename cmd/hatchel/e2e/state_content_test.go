package e2e_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The state store holds the answers of calls with a key, pending approvals and events that wait for their webhook, in
// clear; credentials of callers and secrets of the configuration are not in it, also when a service repeats them.
func TestStateAndAuditLogHoldNoCredential(t *testing.T) {
	t.Parallel()
	bank := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hook" { // its events wait
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte("seen " + r.Header.Get("Authorization")))
	}))
	defer bank.Close()
	o := newApprovalServer(t, `state { sqlite = "state.db" }`)
	const bankSecret = "bank-token-0123456789"
	for name, text := range map[string]string{"bank.txt": bankSecret, "hook.txt": hookSecret} {
		if err := os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.writeConfig(o.text + `
secret "bank" { file = "bank.txt" }
secret "hook" { file = "hook.txt" }
webhook "ops" {
  url    = "` + bank.URL + `/hook"
  secret = secret.hook
}
connection "http" "bank" {
  base_url = "` + bank.URL + `"
  auth { bearer = secret.bank }
}
tool "pay" {
  description = "Pay an invoice."
  idempotency {}
  http "bank" { post = "/" }
}
tool "ship" {
  description = "Ship an order."
  approval { notify = ["ops"] }
  http "bank" { post = "/" }
}
`)
	o.replica = startReplica(t, o.dir, "")
	if answer := <-o.startCall("eve", "pay", `{"idempotency_key":"marker-of-a-key"}`); !strings.Contains(answer, "seen ") {
		t.Fatal(answer)
	}
	o.requestApproval("eve", "ship", `{}`)
	holdsAnswer := func() (found bool) {
		for _, pattern := range []string{"state.db*", "audit.jsonl"} {
			names, err := filepath.Glob(filepath.Join(o.dir, pattern))
			if err != nil || len(names) == 0 {
				t.Fatal(names, err)
			}
			for _, name := range names {
				content, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				found = found || strings.Contains(name, "state.db") && bytes.Contains(content, []byte("seen "))
				for _, credential := range []string{bankSecret, hookSecret, hookSecret[len("whsec_"):], apiKeyOf("eve")} {
					if bytes.Contains(content, []byte(credential)) {
						t.Errorf("%s holds %q", filepath.Base(name), credential)
					}
				}
			}
		}
		return found
	}
	await(t, holdsAnswer) // SQLite may move pages from one file to the other between the reads
}
