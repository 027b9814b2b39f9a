package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/adapters/mcp/client/mcptest"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

const fetchedToken = "fetched-t0k3n-of-the-connection"

// signedIn returns a configuration whose connection fetches a token.
func signedIn(t *testing.T, s *mcptest.Server) adaptertest.Source {
	t.Helper()
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"access_token":"`+fetchedToken+`","token_type":"Bearer","expires_in":3600}`)
	}))
	t.Cleanup(tokens.Close)
	auth := fmt.Sprintf(`
  asks = ["elicitation"]
  auth {
    oauth2 {
      token_url     = %q
      client_id     = "me"
      client_secret = secret.key
    }
  }`, tokens.URL)
	return source(t, s.Start(t), auth, "", "    call = \"delete_repo\"\n    forward_logs = \"warning\"")
}

func TestATokenThatAServerRepeatsIsHidden(t *testing.T) {
	text := func(text string) map[string]any { return map[string]any{"type": "text", "text": text} }
	for era, kind := range map[string]mcptest.Era{"legacy": mcptest.Legacy, "modern": mcptest.Modern} {
		for name, answer := range map[string]func(c *mcptest.Call, token string) (any, error){
			"a result": func(_ *mcptest.Call, token string) (any, error) {
				return map[string]any{
					"content": []any{
						text("I was sent " + token), text("to\u200bken " + token[:9] + "\u200b" + token[9:]),
						map[string]any{"type": "resource_link", "name": token, "uri": "https://a.example/" + token},
						map[string]any{"type": "resource", "resource": map[string]any{"uri": "file:///" + token, "text": token}},
					},
					"structuredContent": map[string]any{"got": token, token: 1},
				}, nil
			},
			"an error of the tool": func(_ *mcptest.Call, token string) (any, error) {
				return map[string]any{"isError": true, "content": []any{text("I was sent " + token)}}, nil
			},
			"an error of the protocol": func(_ *mcptest.Call, token string) (any, error) {
				return nil, &mcptest.Error{Code: -32000, Message: "I was sent " + token}
			},
			"progress and logs": func(c *mcptest.Call, token string) (any, error) {
				c.Progress(1, 2, "I was sent "+token)
				c.Log("error", "I was sent "+token)
				return mcptest.Text("done"), nil
			},
		} {
			t.Run(era+" "+name, func(t *testing.T) {
				s := &mcptest.Server{Era: kind, Stateful: kind == mcptest.Legacy}
				s.SetTools(createIssue, deleteRepo)
				s.Handle("delete_repo", func(c *mcptest.Call) (any, error) {
					token := strings.TrimPrefix(c.Header.Get("Authorization"), "Bearer ")
					if token != fetchedToken {
						return nil, errors.New("no token")
					}
					return answer(c, token)
				})
				b := adaptertest.Bind(t, signedIn(t, s))
				call, err := b.Call(t.Context(), `{}`)
				if err != nil {
					t.Fatal(err)
				}
				client := &toldClient{}
				call.Client = client
				out, err := b.Action.Do(t.Context(), call)
				var encoded []byte
				if err == nil {
					if encoded, err = value.AppendJSON(nil, out); err != nil {
						t.Fatal(err)
					}
					if !json.Valid(encoded) {
						t.Errorf("%s is not JSON", encoded)
					}
				}
				var cause error
				if f, ok := errors.AsType[*adapters.Fault](err); ok {
					cause = f.Cause
				}
				client.mu.Lock()
				report := fmt.Sprint(string(encoded), err, cause, client.told, b.Log.String())
				client.mu.Unlock()
				if strings.Contains(report, fetchedToken) || !strings.Contains(report, "(secret)") {
					t.Errorf("got %s", report)
				}
			})
		}
	}
}

func TestATokenThatAServerRepeatsInAQuestionIsHidden(t *testing.T) {
	for era, kind := range map[string]mcptest.Era{"legacy": mcptest.Legacy, "modern": mcptest.Modern} {
		t.Run(era, func(t *testing.T) {
			s := asking(kind, mcptest.Form("I was sent "+fetchedToken, "name"))
			asker := &fakeAsker{answer: accepts}
			if _, err := doAsked(t, adaptertest.Bind(t, signedIn(t, s)), asker); err != nil {
				t.Fatal(err)
			}
			if got := asker.asked[0].Message; got != "github asks: I was sent (secret)" {
				t.Errorf("asked %s", got)
			}
		})
	}
}

func TestATokenThatAServerRepeatsWhenASessionIsOpenedIsHidden(t *testing.T) {
	s := &mcptest.Server{}
	s.SetTools(createIssue, deleteRepo)
	s.Intercept = func(w http.ResponseWriter, r *http.Request, _ string, request []byte) bool {
		var f struct{ ID json.RawMessage }
		if err := json.Unmarshal(request, &f); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"I was sent %s"}}`, f.ID,
			r.Header.Get("Authorization"))
		return true
	}
	b := adaptertest.Bind(t, signedIn(t, s))
	_, err := b.Do(t.Context(), `{}`)
	f, ok := errors.AsType[*adapters.Fault](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	state := b.Handle("github").(adapters.Upstream).UpstreamState()
	report := fmt.Sprint(f.Message, f.Cause, state.Failure, b.Log.String())
	if strings.Contains(report, fetchedToken) || strings.Count(report, "(secret)") < 3 {
		t.Errorf("got %s", report)
	}
}

func TestATokenThatADefinitionRepeatsIsHidden(t *testing.T) {
	s := &mcptest.Server{}
	repeated := strings.Replace(deleteRepo, `{"type":"object"}`, `{"type":"object","properties":{"`+fetchedToken+`":{}}}`, 1)
	s.SetTools(repeated, `{"name":"`+fetchedToken+`","inputSchema":{}}`)
	b := adaptertest.Bind(t, signedIn(t, s))
	_, err := b.Do(t.Context(), `{}`)
	f, ok := errors.AsType[*adapters.Fault](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	state := b.Handle("github").(adapters.Upstream).UpstreamState()
	report := fmt.Sprint(f.Cause, state.Drift[0].Changed, state.Drift[0].Found, b.Log.String())
	if strings.Contains(report, fetchedToken) || strings.Count(report, "(secret)") < 3 {
		t.Errorf("got %s", report)
	}
}

// TestEachCallerHasATokenAndASessionOfTheirOwn exchanges the tokens of callers whose calls run at the same time.
func TestEachCallerHasATokenAndASessionOfTheirOwn(t *testing.T) {
	for name, s := range map[string]*mcptest.Server{
		"with sessions":    {Era: mcptest.Legacy, Stateful: true},
		"without sessions": {Era: mcptest.Modern},
	} {
		t.Run(name, func(t *testing.T) {
			tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"access_token":"exchanged-%s","token_type":"Bearer","expires_in":3600}`, r.PostFormValue("subject_token"))
			}))
			t.Cleanup(tokens.Close)
			s.SetTools(createIssue, deleteRepo)
			s.Handle("delete_repo", func(c *mcptest.Call) (any, error) {
				who := strings.TrimPrefix(c.Header.Get("Authorization"), "Bearer exchanged-token-of-")
				return mcptest.Text("%s in the session %s", who, c.Header.Get("Mcp-Session-Id")), nil
			})
			config := source(t, s.Start(t), fmt.Sprintf(`
  auth {
    oauth2 {
      token_url     = %q
      client_id     = "me"
      client_secret = secret.key
      exchange      = true
      audience      = "tracker"
    }
  }`, tokens.URL), "", `    call = "delete_repo"`)
			config.HCL += "auth {\n jwt {\n issuer = \"https://login.example\"\n audience = \"hatchel\"\n }\n}\n"
			b := adaptertest.Bind(t, config)
			do := func(owner string) (string, error) {
				call, err := b.Call(t.Context(), `{}`)
				if err != nil {
					return "", err
				}
				if call.Owner = owner; owner != "" {
					call.Frame.Caller = hcl.CallerMembers(map[string]any{"subject": owner})
					call.Token = func(context.Context) (string, time.Time, error) {
						return "token-of-" + owner, time.Now().Add(time.Hour), nil
					}
				}
				out, err := b.Action.Do(t.Context(), call)
				if err != nil {
					return "", err
				}
				return out.(map[string]any)["text"].(string), nil
			}
			var calls sync.WaitGroup
			var sessions sync.Map // by caller
			for i := range 60 {
				calls.Go(func() {
					who := fmt.Sprint("caller", i%20)
					got, err := do(who)
					caller, session, _ := strings.Cut(got, " in the session ")
					if err != nil || caller != who {
						t.Errorf("%s: %q, %v", who, got, err)
					}
					if first, ok := sessions.LoadOrStore(who, session); ok && first != session {
						t.Errorf("%s has the sessions %s and %s", who, first, session)
					}
				})
			}
			calls.Wait()
			owners := map[any]any{}
			sessions.Range(func(who, session any) bool {
				if other, ok := owners[session]; ok && session != "" {
					t.Errorf("%s and %s have the same session", who, other)
				}
				owners[session] = who
				return true
			})
			before := len(s.Calls())
			got, err := do("")
			if fault, ok := errors.AsType[*adapters.Fault](err); !ok || !fault.NotSent || len(s.Calls()) != before {
				t.Errorf("without a token: %q, %v", got, err)
			}
		})
	}
}
