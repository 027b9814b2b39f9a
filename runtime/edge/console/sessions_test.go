package console_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"hatchel/runtime/edge/mcp"
)

// sendMCP sends a request of a client with the key of a name to the endpoint of the server.
func (s *site) sendMCP(name, method, session, body string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequest(method, "/mcp", strings.NewReader(body))
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	r = r.WithContext(mcp.WithIdentity(r.Context(), s.callerOf(name).Identity))
	w := httptest.NewRecorder()
	s.mcp.For("").ServeHTTP(w, r)
	return w
}

// openSession opens a session of a client, and returns its id.
func (s *site) openSession(name, client string) (id string) {
	s.t.Helper()
	quoted, err := json.Marshal(client)
	if err != nil {
		s.t.Fatal(err)
	}
	w := s.sendMCP(name, "POST", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",
		"capabilities":{},"clientInfo":{"name":`+string(quoted)+`,"version":"1.2"}}}`)
	if id = w.Header().Get("Mcp-Session-Id"); id == "" {
		s.t.Fatal(w.Code, w.Body)
	}
	return id
}

const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`

func TestASessionIsEndedAfterAQuestion(t *testing.T) {
	s := newSite(t, keysOf("vera:ops", "ada:admin", "bob:callers")+"console { allow = \"caller.subject in ['vera', 'ada']\" }\n"+audited+oneTool)
	id, other := s.openSession("bob", "agent"), s.openSession("bob", "other")
	name := s.mcp.Sessions()[0].Name
	path := "/console/sessions/" + name + "/end"
	ada, vera := s.signedIn("ada"), s.signedIn("vera")
	page := ada.get("/console/sessions")
	for _, want := range []string{name, "bob", "agent 1.2", "2025-11-25", "other"} {
		if !strings.Contains(textOf(page.find("sessions")), want) {
			t.Errorf("the list has no %q: %s", want, page.text())
		}
	}
	if strings.Contains(page.body, id) || strings.Contains(page.body, other) {
		t.Error("the list has the id of a session")
	}
	token := url.Values{"token": {vera.get("/console/").token("/console/sign-out")}}
	for _, got := range []*reply{vera.get("/console/sessions"), vera.get(path), vera.post(path, token)} {
		if got.status != http.StatusForbidden {
			t.Errorf("somebody who looks only: %d", got.status)
		}
	}
	question := ada.get(path)
	if w := s.sendMCP("bob", "POST", id, ping); w.Code != http.StatusOK {
		t.Errorf("the question has ended the session: %d", w.Code)
	}
	if got := ada.post(path, url.Values{}); got.status != http.StatusForbidden {
		t.Errorf("a form without a token: %d", got.status)
	}
	form := url.Values{"token": {question.token(path)}}
	if got := ada.post(path, form); got.status != http.StatusSeeOther || got.header.Get("Location") != "/console/sessions" {
		t.Errorf("the end: %d %s", got.status, got.text())
	}
	if w := s.sendMCP("bob", "POST", id, ping); w.Code != http.StatusNotFound {
		t.Errorf("the session goes on: %d", w.Code)
	}
	if w := s.sendMCP("bob", "POST", other, ping); w.Code != http.StatusOK {
		t.Errorf("another session has ended, too: %d", w.Code)
	}
	if got := textOf(ada.get("/console/sessions").find("sessions")); strings.Contains(got, name) || !strings.Contains(got, "other") {
		t.Errorf("afterwards: %s", got)
	}
	record := ada.get("/console/audit?tool=" + name)
	if got := textOf(record.find("records")); !strings.Contains(got, "ended the session of bob") || !strings.Contains(got, "ada") {
		t.Errorf("the audit log: %s", record.text())
	}
	for _, got := range []*reply{ada.get(path), ada.post(path, form), ada.get("/console/sessions/none/end")} {
		if got.status != http.StatusNotFound {
			t.Errorf("a session that is not there: %d", got.status)
		}
	}
}

func TestSessionsAreListedByPages(t *testing.T) {
	s := newSite(t, keysOf("ada:admin", "bob:callers")+"console {}\n"+oneTool)
	ada := s.signedIn("ada")
	if got := ada.get("/console/sessions"); !strings.HasPrefix(textOf(got.find("summary")), "0 sessions") {
		t.Errorf("without sessions: %d %s", got.status, got.text())
	}
	for range 101 {
		s.openSession("bob", "agent")
	}
	first := ada.get("/console/sessions")
	next := attr(first.find("after"), "href")
	if n := strings.Count(first.body, "agent 1.2"); n != 100 || next == "" {
		t.Errorf("%d rows, next %q", n, next)
	}
	if second := ada.get(next); strings.Count(second.body, "agent 1.2") != 1 || second.find("after") != nil {
		t.Errorf("the second page: %s", second.text())
	}
	if got := ada.get("/console/sessions?after=none"); got.status != http.StatusSeeOther {
		t.Errorf("after a session that is gone: %d", got.status)
	}
}

func TestNamesOfClientsAreTexts(t *testing.T) {
	s := newSite(t, keysOf("ada:admin", "bob:callers")+"console {}\n"+oneTool)
	ada := s.signedIn("ada")
	for _, text := range hostileTexts() {
		s.sendMCP("bob", "DELETE", s.openSession("bob", "first"), "")
		id := s.openSession("bob", text)
		list := ada.get("/console/sessions")
		question := ada.get("/console/sessions/" + s.mcp.Sessions()[0].Name + "/end")
		for _, page := range []*reply{list, question} {
			if page.status != http.StatusOK || strings.Contains(strings.ToLower(shapeOf(page.page)), "hostile") ||
				strings.ContainsAny(page.body, unseen) {
				t.Errorf("with %q: %d %s", text, page.status, page.body)
			}
		}
		s.sendMCP("bob", "DELETE", id, "")
	}
}
