package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/adapters/mcp/client/mcptest"
)

// errPaused is the error of a fake asker whose client answers with another request.
var errPaused = errors.New("paused")

// fakeAsker answers each question that it is asked.
type fakeAsker struct {
	answer func(q adapters.Question) adapters.Answer
	pauses bool // the client answers with another request
	cannot bool // the client cannot be asked

	asked  []adapters.Question
	resume []byte
}

func (a *fakeAsker) CanAsk(string) bool { return !a.cannot }

func (a *fakeAsker) Ask(_ context.Context, questions []adapters.Question, resume []byte) ([]adapters.Answer, error) {
	a.asked = append(a.asked, questions...)
	if a.pauses && resume != nil {
		a.resume = resume
		return nil, errPaused
	}
	return a.answers(questions), nil
}

func (a *fakeAsker) answers(questions []adapters.Question) (answers []adapters.Answer) {
	for _, q := range questions {
		answers = append(answers, a.answer(q))
	}
	return answers
}

// accepts accepts a form with its only field, and a prompt.
func accepts(q adapters.Question) adapters.Answer {
	answer := adapters.Answer{Action: adapters.AnswerAccept}
	switch {
	case q.Sample != nil:
		answer.Sample = []byte(`{"role":"assistant","content":{"type":"text","text":"Paris"},"model":"m"}`)
	case q.Fields != nil:
		answer.Content = map[string]any{q.Fields.Members[0].Name: "Ada"}
	}
	return answer
}

// asking is a server whose tool asks these questions, one after the other, and returns the answers.
func asking(era mcptest.Era, questions ...mcptest.Question) *mcptest.Server {
	s := &mcptest.Server{Era: era, Stateful: era == mcptest.Legacy}
	s.SetTools(createIssue, deleteRepo)
	var got []string
	s.Handle("delete_repo", func(c *mcptest.Call) (any, error) {
		if era == mcptest.Modern {
			n := len(c.Responses)
			if n > 0 {
				text, err := json.Marshal(c.Responses)
				if err != nil {
					return nil, err
				}
				return mcptest.Text("state %s, %s", c.State, text), nil
			}
			all := map[string]mcptest.Question{}
			for i, q := range questions {
				all[fmt.Sprint("q", i)] = q
			}
			return mcptest.Required("opaque", all), nil
		}
		for _, q := range questions {
			raw, err := c.Ask(q)
			if err != nil {
				raw = json.RawMessage(err.Error())
			}
			got = append(got, string(raw))
		}
		return mcptest.Text("%s", strings.Join(got, " ")), nil
	})
	return s
}

const asksAll = `  asks = ["elicitation", "elicitation.url", "sampling"]
  ask_hosts = ["*.github.example"]`

func bindAsking(t *testing.T, s *mcptest.Server, asks string) *adaptertest.BoundTool {
	t.Helper()
	return adaptertest.Bind(t, source(t, s.Start(t), asks, "", `    call = "delete_repo"`))
}

func page(url string) mcptest.Question {
	return mcptest.Question{Method: "elicitation/create", Params: map[string]any{"mode": "url", "message": "Sign in", "url": url, "elicitationId": "e"}}
}

// labelled is a form with one text of this title.
func labelled(title string) mcptest.Question {
	field := map[string]any{"type": "string", "title": title}
	form := map[string]any{"type": "object", "properties": map[string]any{"value": field}}
	return mcptest.Question{Method: "elicitation/create", Params: map[string]any{"message": "Sign in", "requestedSchema": form}}
}

func TestAServerAsksTheClientOfACall(t *testing.T) {
	sample := mcptest.Question{Method: "sampling/createMessage", Params: map[string]any{
		"maxTokens": 10, "messages": []any{map[string]any{"role": "user", "content": map[string]any{"type": "text", "text": "Cap\u202eital?"}}},
	}}
	for name, c := range map[string]struct {
		question mcptest.Question
		want     string // what the client gets
		answer   string // what the server gets
	}{
		"a form":   {mcptest.Form("Who\u202e?", "name"), "github asks: Who?", `"content":{"name":"Ada"}`},
		"a page":   {page("https://a.github.example/x"), "github asks: Sign in https://a.github.example/x", `"action":"accept"`},
		"a prompt": {sample, `"systemPrompt":"github asks:"`, `"text":"Paris"`},
	} {
		for era, kind := range map[string]mcptest.Era{"legacy": mcptest.Legacy, "modern": mcptest.Modern} {
			t.Run(name+" of a "+era+" server", func(t *testing.T) {
				s := asking(kind, c.question)
				b := bindAsking(t, s, asksAll)
				asker := &fakeAsker{answer: accepts, pauses: true}
				out, err := doAsked(t, b, asker)
				if err != nil {
					t.Fatal(err)
				}
				q := asker.asked[0]
				if got := q.Message + " " + q.URL + string(q.Sample); !strings.Contains(got, c.want) || strings.Contains(got, "\u202e") ||
					q.Key != "github.1" {
					t.Errorf("asked %q as %s", got, q.Key)
				}
				if got := fmt.Sprint(out); !strings.Contains(got, c.answer) || kind == mcptest.Modern && !strings.Contains(got, "state opaque") {
					t.Errorf("the server got %s", got)
				}
			})
		}
	}
}

// doAsked makes a call, and continues it where it pauses.
func doAsked(t *testing.T, b *adaptertest.BoundTool, asker *fakeAsker) (any, error) {
	t.Helper()
	call, err := b.Call(t.Context(), `{}`)
	if err != nil {
		t.Fatal(err)
	}
	call.Asker = asker
	out, err := b.Action.Do(t.Context(), call)
	if !errors.Is(err, errPaused) {
		return out, err
	}
	if call, err = b.Call(t.Context(), `{}`); err != nil {
		t.Fatal(err)
	}
	call.Asker, call.Resumption = asker, &adapters.Resumption{State: asker.resume, Answers: asker.answers(asker.asked)}
	return b.Action.Do(t.Context(), call)
}

func TestAQuestionThatIsNotAllowedEndsTheCall(t *testing.T) {
	tools := map[string]any{"maxTokens": 1, "messages": []any{}, "tools": []any{}}
	whole := map[string]any{"maxTokens": 1, "messages": []any{}, "includeContext": "allServers"}
	for name, c := range map[string]struct {
		questions []mcptest.Question
		want      string
	}{
		"a field for a password":      {[]mcptest.Question{mcptest.Form("Sign in", "password")}, "does not allow (elicitation)"},
		"a page on another host":      {[]mcptest.Question{page("https://evil.example/github.example")}, "does not allow (elicitation.url)"},
		"a hidden credential":         {[]mcptest.Question{labelled("Pass\u200bword")}, "does not allow (elicitation)"},
		"a credential, please":        {[]mcptest.Question{labelled("Your password please (not shown)")}, "does not allow (elicitation)"},
		"a host that is no ASCII":     {[]mcptest.Question{page("https://a.g\u0130thub.example/")}, "does not allow (elicitation.url)"},
		"a host in percent":           {[]mcptest.Question{page("https://a.g%C4%B0thub.example/")}, "does not allow (elicitation.url)"},
		"a host that ends early":      {[]mcptest.Question{page("https://evil.example\uff0f.github.example/")}, "does not allow (elicitation.url)"},
		"a host after a user":         {[]mcptest.Question{page("https://a.github.example@evil.example/")}, "does not allow (elicitation.url)"},
		"a host after a backslash":    {[]mcptest.Question{page(`https://evil.example\.github.example/`)}, "does not allow (elicitation.url)"},
		"a host without the dot":      {[]mcptest.Question{page("https://evilgithub.example/")}, "does not allow (elicitation.url)"},
		"the host above":              {[]mcptest.Question{page("https://github.example/")}, "does not allow (elicitation.url)"},
		"a page without TLS":          {[]mcptest.Question{page("http://a.github.example/")}, "does not allow (elicitation.url)"},
		"a page with a password":      {[]mcptest.Question{page("https://a:b@a.github.example/")}, "does not allow (elicitation.url)"},
		"a model that calls tools":    {[]mcptest.Question{{Method: "sampling/createMessage", Params: tools}}, "does not allow (sampling)"},
		"a model with other contexts": {[]mcptest.Question{{Method: "sampling/createMessage", Params: whole}}, "does not allow (sampling)"},
	} {
		for era, kind := range map[string]mcptest.Era{"legacy": mcptest.Legacy, "modern": mcptest.Modern} {
			t.Run(name+" of a "+era+" server", func(t *testing.T) {
				asker := &fakeAsker{answer: accepts}
				_, err := doAsked(t, bindAsking(t, asking(kind, c.questions...), asksAll), asker)
				f, ok := errors.AsType[*adapters.Fault](err)
				if !ok || !strings.Contains(f.Message, c.want) || f.Change != adapters.ChangeUnknown || len(asker.asked) > 0 {
					t.Errorf("got %v, and asked %v", err, asker.asked)
				}
			})
		}
	}
	t.Run("a fifth one of a modern server", func(t *testing.T) {
		s, rounds := asking(mcptest.Modern), 0
		s.Handle("delete_repo", func(*mcptest.Call) (any, error) {
			rounds++
			return mcptest.Required("opaque", map[string]mcptest.Question{"q": mcptest.Form("Who?", "name")}), nil
		})
		asker := &fakeAsker{answer: accepts}
		_, err := doAsked(t, bindAsking(t, s, asksAll), asker)
		if err == nil || !strings.Contains(err.Error(), "asked more than 4 questions") || rounds != 5 || len(asker.asked) != 4 {
			t.Errorf("got %v after %d rounds and %d questions", err, rounds, len(asker.asked))
		}
	})
}

func TestAServerThatMayNotAskGetsNoAnswer(t *testing.T) {
	for era, kind := range map[string]mcptest.Era{"legacy": mcptest.Legacy, "modern": mcptest.Modern} {
		t.Run(era, func(t *testing.T) {
			asker := &fakeAsker{answer: accepts}
			out, err := doAsked(t, bindAsking(t, asking(kind, mcptest.Form("Who?", "name")), ""), asker)
			if got := fmt.Sprint(out, err); len(asker.asked) > 0 || strings.Contains(got, "Ada") {
				t.Errorf("got %s, and asked %v", got, asker.asked)
			}
		})
	}
}

// TestACallThatWasSentBeforeItsAnswersIsNotSaidToBeUnsent is about a definition that changes while the user answers.
func TestACallThatWasSentBeforeItsAnswersIsNotSaidToBeUnsent(t *testing.T) {
	for name, pauses := range map[string]bool{"on the stream": false, "by another request": true} {
		t.Run(name, func(t *testing.T) {
			s := asking(mcptest.Modern, mcptest.Form("Who?", "name"))
			b := bindAsking(t, s, asksAll+"\n  refresh = \"0s\"")
			_, err := doAsked(t, b, &fakeAsker{pauses: pauses, answer: func(q adapters.Question) adapters.Answer {
				s.SetTools(createIssue, strings.Replace(deleteRepo, "true", "false", 1))
				return accepts(q)
			}})
			f, ok := errors.AsType[*adapters.Fault](err)
			if !ok || !strings.Contains(f.Message, "withdrawn") || f.NotSent || f.SaysNotSent || f.Change != adapters.ChangeUnknown {
				t.Errorf("got %+v", err)
			}
			if n := len(s.Calls()); n != 1 {
				t.Errorf("%d calls", n)
			}
		})
	}
}

func TestAClientThatCannotBeAskedCancels(t *testing.T) {
	for era, kind := range map[string]mcptest.Era{"legacy": mcptest.Legacy, "modern": mcptest.Modern} {
		t.Run(era, func(t *testing.T) {
			b := bindAsking(t, asking(kind, mcptest.Form("Who?", "name")), asksAll)
			out, err := b.Do(t.Context(), `{}`)
			if got := fmt.Sprint(out); err != nil || !strings.Contains(got, `"action":"cancel"`) {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

// toldClient is a client of a call that reads progress and logs.
type toldClient struct {
	adapters.NopClient
	mu   sync.Mutex
	told []string
}

func (c *toldClient) WantsProgress() bool { return true }

func (c *toldClient) Progress(done, total float64, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, fmt.Sprint("progress ", done, " of ", total, " ", message))
}

func (c *toldClient) Log(level, logger string, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, fmt.Sprint("log ", level, " ", logger, " ", string(data)))
}

func TestTheClientOfACallIsToldProgressAndLogs(t *testing.T) {
	for era, kind := range map[string]mcptest.Era{"legacy": mcptest.Legacy, "modern": mcptest.Modern} {
		t.Run(era, func(t *testing.T) {
			s := asking(kind)
			s.Handle("delete_repo", func(c *mcptest.Call) (any, error) {
				c.Progress(1, 2, "half\u202e way "+strings.Repeat("x", 300))
				c.Log("info", "not told")
				c.Log("error", "told\u202e")
				return mcptest.Text("done"), nil
			})
			b := adaptertest.Bind(t, source(t, s.Start(t), "", "", "    call = \"delete_repo\"\n    forward_logs = \"warning\""))
			call, err := b.Call(t.Context(), `{}`)
			if err != nil {
				t.Fatal(err)
			}
			client := &toldClient{}
			call.Client = client
			if _, err := b.Action.Do(t.Context(), call); err != nil {
				t.Fatal(err)
			}
			want := "[progress 1 of 2 half way " + strings.Repeat("x", 190) + "… log error github \"told\"]"
			if got := fmt.Sprint(client.told); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestAPageThatAServerRequiresIsNamedIfItMayBeOpened(t *testing.T) {
	for page, want := range map[string]string{
		"https://a.github.example/sign-in": "until its user has opened a page; have the user open https://a.github.example/sign-in and call again",
		"https://evil.example/sign-in":     "until its user has opened a page, which this configuration does not allow",
	} {
		s := asking(mcptest.Legacy)
		s.Handle("delete_repo", func(*mcptest.Call) (any, error) {
			data := fmt.Appendf(nil, `{"elicitations":[{"mode":"url","url":%q,"message":"m","elicitationId":"e"}]}`, page)
			return nil, &mcptest.Error{Code: -32042, Message: "sign in", Data: data}
		})
		_, err := bindAsking(t, s, asksAll).Do(t.Context(), `{}`)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "evil") {
			t.Errorf("got %v", err)
		}
	}
}
