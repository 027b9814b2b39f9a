package signin_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/edge/server"
)

// stream opens a session and its stream of events, and returns a channel that is closed when the stream ends.
func (r *rig) stream(token string) (ended chan struct{}) {
	r.t.Helper()
	send := func(method, body, session string) *http.Response {
		q, err := http.NewRequestWithContext(r.t.Context(), method, r.url+"/mcp", strings.NewReader(body))
		if err != nil {
			r.t.Fatal(err)
		}
		q.Header = http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Mcp-Protocol-Version": {"2025-06-18"}, "Authorization": {"Bearer " + token},
		}
		if session != "" {
			q.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			r.t.Fatal(err)
		}
		return resp
	}
	hello := send(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",`+
		`"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, "")
	hello.Body.Close()
	resp := send(http.MethodGet, "", hello.Header.Get("Mcp-Session-Id"))
	if resp.StatusCode != http.StatusOK {
		r.t.Fatalf("the stream is answered with %d", resp.StatusCode)
	}
	ended = make(chan struct{})
	go func() {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		close(ended)
	}()
	return ended
}

// TestStreamsEndWithTheirSignIn has the streams of two sign-ins of one person end in turn.
func TestStreamsEndWithTheirSignIn(t *testing.T) {
	r := openRig(t, declared, "")
	p := r.program("inspector", inspector)
	first, second := p.signIn(), p.signIn()
	one, two := r.stream(first.Access), r.stream(second.Access)
	r.post("/oauth/revoke", "token", first.Refresh, "client_id", "inspector")
	awaitEnd(t, one, "of a revoked sign-in")
	select {
	case <-two:
		t.Fatal("the stream of another sign-in has ended")
	default:
	}
	r.load(declared+`allow = "'board' in caller.groups"`, "")
	awaitEnd(t, two, "of a person who is not admitted any more")
}

func awaitEnd(t *testing.T, ended chan struct{}, whose string) {
	t.Helper()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatalf("the stream %s goes on", whose)
	}
}

// TestAServerWithSignInNeedsItsState loads a configuration whose state cannot be opened, at the start and by a reload.
func TestAServerWithSignInNeedsItsState(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const plain = `
state { sqlite = "file/state.db" }
tool "hi" {
  description = "Say hi."
  text        = "hi"
}
`
	const signIn = `
secret "provider" { env = "PROVIDER" }
auth {
  sign_in {
    url           = "https://tools.example"
    provider      = "https://provider.example"
    client_id     = "hatchel"
    client_secret = secret.provider
  }
}
`
	for name, first := range map[string]string{"at the start": "", "by a reload": plain} {
		for _, people := range []bool{true, false} { // a server over stdio needs no state
			t.Run(name, func(t *testing.T) {
				host := runtime.NewHost(t.Context(), runtime.HostOptions{
					Load: hcl.Options{Getenv: func(string) (string, bool) { return clientSecret, true }},
					Build: runtime.Build{
						Set: all.Set(), Dir: dir, State: server.NewState(t.Context(), "", dir), SignIn: people,
					},
				})
				t.Cleanup(host.Close)
				if first != "" {
					if diags := host.Load(t.Context(), fstest.MapFS{"a.hcl": {Data: []byte(first)}}); diags.HasErrors() {
						t.Fatal(diags)
					}
				}
				diags := host.Load(t.Context(), fstest.MapFS{"a.hcl": {Data: []byte(plain + signIn)}})
				if diags.HasErrors() != people {
					t.Errorf("it is not served: %t; %v", !people, diags)
				}
				if people && (len(diags) != 1 || diags[0].Summary != "State cannot be kept" || diags[0].Subject.Start.Line != 10) {
					t.Errorf("%+v", diags[0])
				}
			})
		}
	}
}

// TestAReloadChangesTheKeyOfTheState follows the guide: sign-ins and their tokens go on, and end with the key that
// sealed them.
func TestAReloadChangesTheKeyOfTheState(t *testing.T) {
	r := openRig(t, declared, "")
	p := r.program("inspector", inspector)
	a := p.signIn()
	for _, keys := range []string{
		"key = secret.state\n previous_key = secret.next", "key = secret.next\n previous_key = secret.state", "key = secret.next",
	} {
		r.keys = keys
		r.load(declared, "")
		r.mustCall(a.Access, "ada")
		a = p.refresh(a.Refresh)
		r.mustCall(a.Access, "ada")
	}
	r.keys = "key = secret.state"
	r.load(declared, "")
	if status, _ := r.call("/mcp", a.Access); status != http.StatusUnauthorized {
		t.Errorf("a token of another key is answered with %d", status)
	}
	if next := p.refresh(a.Refresh); next.Error != "invalid_grant" {
		t.Errorf("the refresh gives %+v", next)
	}
	r.mustCall(p.signIn().Access, "ada")
}
