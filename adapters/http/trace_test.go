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
