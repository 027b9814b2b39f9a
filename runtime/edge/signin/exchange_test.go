package signin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestAServiceIsCalledWithTheTokenOfTheProvider exchanges the token that the provider has given for a person, and never
// the one that this server has issued.
func TestAServiceIsCalledWithTheTokenOfTheProvider(t *testing.T) {
	var mu sync.Mutex
	var exchanged []string
	sent := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(exchanged)
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if q.URL.Path == "/token" {
			exchanged = append(exchanged, q.PostFormValue("subject_token"))
			json.NewEncoder(w).Encode(map[string]any{
				"access_token": fmt.Sprint("exchanged ", len(exchanged)), "token_type": "Bearer", "expires_in": 3600,
				"issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
			})
			return
		}
		number, _ := strings.CutPrefix(q.Header.Get("Authorization"), "Bearer exchanged ")
		fmt.Fprintf(w, `{"as":%q}`, "number "+number) // no result has a token
	}))
	defer service.Close()
	r := openRig(t, declared, fmt.Sprintf(`
connection "http" "shop" {
  base_url = %q
  auth {
    oauth2 {
      token_url     = %q
      client_id     = "tools"
      client_secret = secret.provider
      exchange      = true
    }
  }
}
tool "mine" {
  description = "What is the caller's."
  http "shop" { get = "/mine" }
  result = "output.body.as"
}
`, service.URL, service.URL+"/token"))
	p := r.program("inspector", inspector)
	a := p.signIn()
	r.mustCall(a.Access, "ada of finance")
	if len(sent()) != 0 {
		t.Error("a token was exchanged for a call that needs none")
	}
	for range 2 {
		if status, text := r.callTool("mine", a.Access); status != http.StatusOK || !strings.Contains(text, "number 1") {
			t.Fatalf("the service is called: %d %s", status, text)
		}
	}
	if all := sent(); len(all) != 1 || all[0] == a.Access || !slices.Contains(r.provider.Given(), all[0]) {
		t.Errorf("what is exchanged is %q", all)
	}
	b := p.refresh(a.Refresh) // the person is the same
	if status, text := r.callTool("mine", b.Access); status != http.StatusOK || !strings.Contains(text, "number 1") {
		t.Errorf("after a refresh: %d %s", status, text)
	}
}
