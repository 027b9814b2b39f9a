package examples_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// eventsOf returns what the server has recorded, as a stream and as lines.
func (s *server) eventsOf(query string) string {
	s.t.Helper()
	var all strings.Builder
	for _, media := range []string{"text/event-stream", "application/x-ndjson"} {
		r, err := http.NewRequest(http.MethodGet, strings.TrimSuffix(s.url, "/mcp")+"/events?follow=false"+query, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		r.Header.Set("Accept", media)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			s.t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			s.t.Fatalf("%s %s %v", res.Status, text, err)
		}
		all.Write(text)
	}
	return all.String()
}

func TestNoSecretOfAnExampleIsInAnEvent(t *testing.T) {
	t.Parallel()
	f, _ := refundShop(t)
	f.write("events.hcl", "events {\n  results = \"redacted\"\n}\n")
	s := f.serve()
	s.eventsOf("") // from now on events are recorded
	for _, arguments := range []string{
		string(refundOf(7)), `{"customer":"Ada","amount":7,"iban":"de02120300000000202051"}`,
		`{"customer":"DE02120300000000202051","amount":7,"iban":"DE02120300000000202051"}`,
		`{"customer":"DE02120300000000202051","amount":-7,"iban":"DE02120300000000202051"}`,
		`{"customer":7,"amount":7,"iban":["DE02120300000000202051"]}`, `{"ibann":"DE02120300000000202051"}`,
		`{"customer":"` + hookSecret + `","amount":7,"iban":"DE02120300000000202051"}`,
	} {
		s.call("refund", json.RawMessage(arguments))
	}
	said := s.asks("refund", refundOf(500))
	id, _ := f.waiting()
	f.decides("approve", id, "ticket 88")
	answered(t, said)
	events := ""
	for deadline := time.Now().Add(maxWait); !strings.Contains(events, `"type":"approval.decided"`); {
		if events = s.eventsOf(""); time.Now().After(deadline) {
			t.Fatalf("the decision is in no event: %s", events)
		}
		time.Sleep(20 * time.Millisecond)
	}
	for _, kind := range []string{"tool_call", "tool_step", "tool_result", "approval.requested"} {
		if !strings.Contains(events, `"type":"`+kind+`"`) {
			t.Errorf("there is no %s", kind)
		}
	}
	const iban = "DE02120300000000202051"
	for _, hidden := range []string{
		iban, strings.ToLower(iban), hookSecret, f.env[0][len("REFUNDS_HOOK_URL="):],
		base64.RawStdEncoding.EncodeToString([]byte(iban))[:24],
	} {
		if i := strings.Index(events, hidden); i >= 0 {
			t.Errorf("%s is in %s", hidden, events[max(0, i-300):min(len(events), i+100)])
		}
	}
}
