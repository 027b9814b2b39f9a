package call

import (
	"encoding/json"
	"maps"
	"testing"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/elicit"
)

const approvedTool = `
tool "t" {
  description = "Takes an input."
  input "n" { type = number }
  input "tags" { type = optional(list(string), []) }
  approval { when = "input.n > 1" }
  idempotency { ttl = "1h" }
  text = "done"
}
`

// What waits is found by digests of the call and its caller. A program that computes other ones would ask again for what
// an earlier program was granted, repeat a call with a key, and refuse the token of a call that is paused.
func TestTheNamesOfWhatIsStoredStayTheSame(t *testing.T) {
	p := compile(t, approvedTool)
	p.AddApprovals(nil)
	caller := &mcp.Caller{
		Toolset: "finance", Subject: "ann", ClientInfo: []byte(`{"name":"c","version":"1"}`),
		Capabilities: []byte(`{"elicitation":{},"sampling":{}}`),
		Identity: &mcp.Identity{
			Subject: "ann", Key: "https://issuer.example", Groups: []string{"finance", "ops"}, Scopes: []string{"pay"},
			Claims:  []byte(`{"sub":"ann","iat":1,"exp":2,"jti":"x","limit":1.50,"teams":["a","b"]}`),
			Headers: map[string]string{"x-tenant": "acme"},
		},
	}
	got := map[string]string{}
	for name, caller := range map[string]*mcp.Caller{"anonymous": {}, "identified": caller} {
		c := p.newCallOf(t.Context(), caller, adapters.NopClient{})
		t.Cleanup(c.release)
		c.program, c.elicitation = p, &elicit.Exchange{Request: "r", Caller: caller}
		c.frame.Input = map[string]any{
			"n": json.Number("1.50"), "tags": []any{"a"}, hcl.KeyInput: "k",
		}
		var err error
		if got["approval of one "+name], err = p.approvalFingerprint(&c.action, caller); err != nil {
			t.Fatal(err)
		}
		if got["approval in a step of one "+name], err = p.approvalFingerprint(&c.action, nil); err != nil {
			t.Fatal(err)
		}
		state, err := p.stateDigest(c.elicitation, &c.action)
		if err != nil {
			t.Fatal(err)
		}
		got["state token of one "+name] = state.String()
	}
	want := map[string]string{
		"approval of one anonymous":            "27c6595e7de981ccc48a5a2a672012f715de09b956e008300d0214a11dcb785e",
		"approval in a step of one anonymous":  "f4f01fbb5cab5ed9245ce62231eb495ef52732e44569ec7a0652506faca0f5ef",
		"state token of one anonymous":         "e3481589a094a00f5ae2e9667c22f4e254aa9829ca6046b8f342d6652efe24fc",
		"approval of one identified":           "47f90ba857bb9c4c31cd843e6b538f6aaa360e4d86e45cc9adb90abb2599efe5",
		"approval in a step of one identified": "fabc94d9ab7786b7aa46ac6b39325b3386a9849ed0674ca08a17cdabf7b7c0e6",
		"state token of one identified":        "9416b34b524a1261568ee4786010a8794d433cdde5792f5c89c892d1df696a77",
	}
	if !maps.Equal(got, want) {
		t.Errorf("the names are\n%q, not\n%q", got, want)
	}
}
