package http_test

import (
	"testing"

	"hatchel/adapters/adaptertest"
)

func TestRequestsCarryTheTraceOfTheCall(t *testing.T) {
	const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for name, c := range map[string]struct{ connection, block, want string }{
		"by default":            {"", `get = "/x"`, traceparent},
		"with a shared header":  {"  headers = { X-Client = \"hatchel\" }", `get = "/x"`, traceparent},
		"unless it is off":      {"  trace = false", `get = "/x"`, ""},
		"unless the author has": {"", "get = \"/x\"\n headers = { traceparent = \"mine\" }", "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, respond(`{}`))
			b := adaptertest.Bind(t, source(s.URL, c.connection, "", c.block))
			call, err := b.Call(t.Context(), `{}`)
			if err != nil {
				t.Fatal(err)
			}
			call.Traceparent = traceparent
			if _, err := b.Action.Do(t.Context(), call); err != nil {
				t.Fatal(err)
			}
			if got := s.last().Header.Get("Traceparent"); got != c.want {
				t.Errorf("sent %q", got)
			}
		})
	}
}

// TestATracestateIsSentWithItsTraceparent has blocks and connections with trace headers of the author.
func TestATracestateIsSentWithItsTraceparent(t *testing.T) {
	for name, c := range map[string]struct{ connection, block, want string }{
		"by default":                  {"", `get = "/x"`, "vendor=1"},
		"unless it is off":            {"  trace = false", `get = "/x"`, ""},
		"not with one of the block":   {"", "get = \"/x\"\n headers = { traceparent = \"mine\" }", ""},
		"nor of the connection":       {"  headers = { Traceparent = \"mine\" }", `get = "/x"`, ""},
		"unless the author has one":   {"", "get = \"/x\"\n headers = { tracestate = \"mine=1\" }", "mine=1"},
		"unless the author has both":  {"", "get = \"/x\"\n headers = { traceparent = \"a\", tracestate = \"b=1\" }", "b=1"},
		"also with some other header": {"  headers = { X-Client = \"hatchel\" }", `get = "/x"`, "vendor=1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, respond(`{}`))
			b := adaptertest.Bind(t, source(s.URL, c.connection, "", c.block))
			call, err := b.Call(t.Context(), `{}`)
			if err != nil {
				t.Fatal(err)
			}
			call.Traceparent, call.Tracestate = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "vendor=1"
			if _, err := b.Action.Do(t.Context(), call); err != nil {
				t.Fatal(err)
			}
			if got := s.last().Header.Get("Tracestate"); got != c.want {
				t.Errorf("sent %q", got)
			}
		})
	}
}
