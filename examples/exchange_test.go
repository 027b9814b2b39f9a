package examples_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/runtime/edge/auth/issuertest"
)

// personalShop is a service that answers who it was asked for, by tokens that its issuer has made for it.
type personalShop struct {
	*issuertest.Issuer
	mu   sync.Mutex
	seen strings.Builder // all that came to it; guarded by mu
}

const shopAudience = "https://shop.example"

func (s *personalShop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	fmt.Fprintln(&s.seen, r.Header, r.URL, string(body))
	s.mu.Unlock()
	claims := s.Read(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), shopAudience)
	if claims == nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	fmt.Fprintf(w, `{"who":%q}`, claims["sub"])
}

// A service is asked in the name of who calls, and the token that the caller has shown goes nowhere but to the issuer.
func TestAServiceSeesWhoCallsAndNeverTheirTokens(t *testing.T) {
	t.Parallel()
	shop := &personalShop{Issuer: issuertest.Open(t)}
	shop.SetExchange(issuertest.Exchange{Client: "tools", Secret: "the secret of the tools"})
	web := httptest.NewServer(shop)
	defer web.Close()
	f := &folder{t: t, path: t.TempDir(), env: []string{"ROBOT_KEY=" + robotKey, "CLIENT=the secret of the tools"}}
	f.write("auth.hcl", authBlock(shop.Issuer, "robot"))
	f.write("tools.hcl", `
		audit { file = "audit.jsonl" }
		secret "client" { env = "CLIENT" }
		connection "http" "shop" {
		  base_url = "`+web.URL+`"
		  auth {
		    oauth2 {
		      token_url     = "`+shop.URL+`/token"
		      client_id     = "tools"
		      client_secret = secret.client
		      exchange      = true
		      audience      = "`+shopAudience+`"
		    }
		  }
		}
		tool "mine" {
		  description = "What is the caller's."
		  http "shop" { get = "/mine" }
		  result = "output.body.who"
		  cache { ttl = "1m" }
		}
		tool "readable" {
		  description = "All that can be read of who calls."
		  result      = "caller"
		}`)
	s := f.serve()
	tokens := map[string]string{}
	for _, who := range []string{"ada", "bob", "eve"} {
		tokens[who] = shop.Token(toolsAudience, map[string]any{"sub": who, "scope": "tools"})
	}
	var calling sync.WaitGroup
	for who, token := range tokens {
		for range 10 {
			calling.Go(func() {
				if res, answer := s.invoke("mine", "Authorization", "Bearer "+token); res.StatusCode != http.StatusOK || !strings.Contains(answer, who) || strings.Contains(answer, "isError") {
					t.Errorf("%s was answered %d %s", who, res.StatusCode, answer)
				}
				if _, answer := s.invoke("readable", "Authorization", "Bearer "+token); strings.Contains(answer, token) {
					t.Errorf("a template reads the token: %s", answer)
				}
			})
		}
	}
	calling.Wait()
	if n := shop.Requests("/token"); n != len(tokens) {
		t.Errorf("%d tokens were asked for", n)
	}
	if _, answer := s.invoke("mine", "X-API-Key", robotKey); !strings.Contains(answer, "this caller has none") || !strings.Contains(answer, `"isError":true`) {
		t.Errorf("a key was answered %s", answer)
	}
	shop.SetExchange(issuertest.Exchange{Client: "tools", Secret: "the secret of the tools", Error: "invalid_grant"})
	again := shop.Token(toolsAudience, map[string]any{"sub": "zoe", "scope": "tools", "exp": time.Now().Add(time.Minute).Unix()})
	if _, answer := s.invoke("mine", "Authorization", "Bearer "+again); !strings.Contains(answer, "must authenticate again") {
		t.Errorf("who is not signed in any more was answered %s", answer)
	}
	log, err := os.ReadFile(filepath.Join(f.path, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range append([]string{again}, tokens["ada"], tokens["bob"], tokens["eve"]) {
		_, signature, _ := strings.Cut(token, ".")
		for where, said := range map[string]string{"the service": shop.seen.String(), "the audit log": string(log)} {
			if strings.Contains(said, signature) {
				t.Errorf("the token of a caller has come to %s", where)
			}
		}
	}
}
