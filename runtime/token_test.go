package runtime

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/edge/mcp"
)

// withToken makes the caller ada with a token; an empty token is another credential.
func withToken(token string) func(*mcp.Caller) {
	return func(c *mcp.Caller) {
		c.Subject, c.Identity = "ada", &mcp.Identity{Subject: "ada", Key: "https://login.example"}
		if token != "" {
			c.Identity.Token = func(context.Context) (string, time.Time, error) {
				return token, time.Now().Add(time.Hour), nil
			}
		}
	}
}

// addToken adds the backend "token", which returns the token of its call.
func (w *fakeBackend) addToken() {
	w.do["token"] = func(ctx context.Context, c *adapters.Call) (any, error) {
		if c.Token == nil {
			return "none", nil
		}
		text, _, err := c.Token(ctx)
		return text, err
	}
}

func TestACallHasTheTokenOfItsCaller(t *testing.T) {
	w := newFakeBackend()
	w.addToken()
	h := newHost(t, everyStep("token"), w.use)
	for token, want := range map[string]string{"s3cr3t-t0k3n": "s3cr3t-t0k3n s3cr3t-t0k3n s3cr3t-t0k3n", "": "none none none"} {
		req := modernRequest("outer", `{}`, `{}`)
		withToken(token)(req.Caller)
		if r := mustCall(t, h, req); r.text() != want {
			t.Errorf("got %+v", r)
		}
	}
	if r := mustCall(t, h, modernRequest("outer", `{}`, `{}`)); r.text() != "none none none" {
		t.Errorf("got %+v", r)
	}
}

// A task goes on with the token of who answers it; what is remembered of it holds none.
func TestTokensAreNotRemembered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	w := newFakeBackend()
	w.addToken()
	w.do["shown"] = func(_ context.Context, c *adapters.Call) (any, error) { return c.Token != nil, nil }
	for answered, want := range map[string]string{"s3cr3t-tw0": "true s3cr3t-tw0", "": "true none"} {
		req := modernRequest("t", `{}`, following)
		withToken("s3cr3t-0ne")(req.Caller)
		if got := afterRestart(t, w, path, "shown", "token", req, withToken(answered)); got != want {
			t.Errorf("got %q", got)
		}
		files, err := filepath.Glob(path + "*")
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(b, []byte("s3cr3t-0ne")) {
				t.Errorf("%s holds a token", filepath.Base(name))
			}
		}
	}
}
