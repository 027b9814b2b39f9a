package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
)

// tenantConnection is a connection whose calls act as the tenant of their caller, on an instance of two.
type tenantConnection struct{ Tenant, Instance *hcl.Expr }

func (c *tenantConnection) spec() hcl.Spec {
	return hcl.Spec{
		hcl.Attr(&c.Tenant, "tenant", "The tenant.").Require(),
		hcl.Attr(&c.Instance, "instance", "The instance, of eu and us."),
	}
}

func (c *tenantConnection) InstanceKeys() []string {
	if c.Instance == nil {
		return nil
	}
	return []string{"eu", "us"}
}

func (c *tenantConnection) IdentityParts() []hcl.IdentityPart {
	parts := []hcl.IdentityPart{
		{Argument: "session", Name: "app.tenant", Value: c.Tenant}, {Argument: "role", Value: c.Tenant},
	}
	if c.Instance != nil {
		parts = append(parts, hcl.IdentityPart{Argument: "instance", Value: c.Instance})
	}
	return parts
}

func (c *tenantConnection) DescribeIdentity(*hcl.Connection, *hcl.Frame) (string, error) {
	return "", nil
}

var _ hcl.Identified = (*tenantConnection)(nil)

// tenantHandle is the handle of a tenantConnection, and of its instances.
type tenantHandle struct {
	*tenantConnection
	down map[string]bool // by the key of an instance
	key  string
}

func (h *tenantHandle) Instance(key string) any {
	return &tenantHandle{h.tenantConnection, h.down, key}
}

func (h *tenantHandle) Ping(context.Context) error {
	if h.down[h.key] {
		return fmt.Errorf("%q does not answer", h.key)
	}
	return nil
}

// tenantBlock is a backend that answers as whom it was called.
type tenantBlock struct{ Writes bool }

func (b *tenantBlock) spec() hcl.Spec {
	return hcl.Spec{hcl.Attr(&b.Writes, "writes", "Whether it changes something.")}
}

func (b *tenantBlock) Describe(*hcl.Connection) (hcl.Effects, error) {
	return hcl.Effects{Default: hcl.DefaultResult{Text: "tenant"}, ReadOnly: !b.Writes}, nil
}

type tenantAction struct {
	conn  *tenantHandle
	calls *[]string
}

func (a *tenantAction) IdentityNeeded() bool { return true }

func (a *tenantAction) Identity(call *adapters.Call) (*adapters.Identity, error) {
	id := &adapters.Identity{Kind: "tenant", Connection: "desk", Role: "reader"}
	v, err := a.conn.Tenant.Eval(call.Frame)
	if err != nil || v == nil {
		return nil, &adapters.Fault{Message: "the caller has no tenant", NotSent: true, SaysNotSent: true}
	}
	id.Session = []adapters.SessionValue{{Name: "app.tenant", Value: fmt.Sprint(v)}}
	if id.Instance, err = a.ChooseInstance(call); err != nil {
		return nil, err
	}
	return id, nil
}

func (a *tenantAction) ChooseInstance(call *adapters.Call) (string, error) {
	if a.conn.tenantConnection.Instance == nil {
		return "", nil
	}
	v, err := a.conn.tenantConnection.Instance.Eval(call.Frame)
	return fmt.Sprint(v), err
}

func (a *tenantAction) Do(_ context.Context, call *adapters.Call) (any, error) {
	id, err := a.Identity(call)
	if err != nil {
		return nil, err
	}
	*a.calls = append(*a.calls, id.String())
	if a.conn.down[id.Instance] {
		return nil, &adapters.Fault{Message: "down", Unavailable: true}
	}
	return map[string]any{"tenant": id.String()}, nil
}

func (a *tenantAction) Plan(call *adapters.Call) ([]adapters.Effect, error) {
	id, err := a.Identity(call)
	if err != nil {
		return nil, err
	}
	return adapters.PlanEffects("tenant", "", "one transaction "+id.String()), nil
}

// withTenants adds the connections and the backend of tenants. Calls has as whom each call was made.
func withTenants(down map[string]bool) (option func(*HostOptions), calls *[]string) {
	calls = new([]string)
	w := newFakeBackend()
	set := w.adapters()
	open := func(_ context.Context, c *tenantConnection, _ adapters.Env) (any, error) {
		return &tenantHandle{c, down, ""}, nil
	}
	bind := func(_ context.Context, _ *tenantBlock, env adapters.Env) (adapters.Action, error) {
		return &tenantAction{env.Connection.(*tenantHandle), calls}, nil
	}
	set.Connectors = append(set.Connectors, adapters.NewConnector("tenant", "Of tenants.", (*tenantConnection).spec, open))
	set.Adapters = append(set.Adapters, adapters.New("tenant", "As a tenant.", (*tenantBlock).spec, bind).WithConnections(true, "tenant"))
	w.do["first"] = func(context.Context, *adapters.Call) (any, error) {
		*calls = append(*calls, "first")
		return nil, nil
	}
	return func(o *HostOptions) { o.Build.Set = set }, calls
}

const desk = "connection \"tenant\" \"desk\" { tenant = caller.claims.tenant }\n"

// callTenant calls a tool with a token of these claims.
func callTenant(t testing.TB, h *Host, tool, claims string) string {
	t.Helper()
	req := modernRequest(tool, `{}`, `{}`)
	withClaims(claims, nil)(req.Caller)
	return callWithin(t.Context(), h, req)
}

// A step that always runs fails for a caller without its identity. Nothing of the steps before it is done, also if the
// step is one of a tool that is called, and a step that may not run, or may fail, stops nothing.
func TestACallWithoutIdentityDoesNothingOfItsEarlierSteps(t *testing.T) {
	const first, later = "step \"a\" {\n  fake { do = \"first\" }\n}\n", "step \"b\" {\n%s  %s\n}\ntext = \"done\""
	option, calls := withTenants(nil)
	h := newHost(t, desk+tool("inner", first+fmt.Sprintf(later, "", `tenant "desk" {}`))+
		tool("always", first+fmt.Sprintf(later, "", `tenant "desk" {}`))+
		tool("outer", first+fmt.Sprintf(later, "", `tool "inner" {}`))+
		tool("maybe", first+fmt.Sprintf(later, "when = \"caller.claims.tenant != nil\"\n", `tenant "desk" {}`))+
		tool("changed", first+fmt.Sprintf(later, "when = \"caller.claims.other == 1\"\n", `tenant "desk" {}`))+
		tool("inside", first+fmt.Sprintf(later, "when = \"caller.claims.other == 1\"\n", `tool "always" {}`))+
		tool("has_read", "step \"a\" {\n  tenant \"public\" {}\n}\n"+
			fmt.Sprintf(later, "when = \"caller.claims.other == 1\"\n", `tenant "desk" {}`))+
		"connection \"tenant\" \"public\" { tenant = caller.claims.other }\n"+
		tool("goes_on", first+fmt.Sprintf(later, "on_error = \"continue\"\n", `tenant "desk" {}`)), option)
	for _, name := range []string{"always", "outer"} {
		got := callTenant(t, h, name, `{"other":1}`)
		if !isRefused(got) || !strings.Contains(got, "the caller has no tenant; nothing was sent") || len(*calls) > 0 {
			t.Errorf("%s did %q: %s", name, *calls, got)
		}
		if got := callTenant(t, h, name, `{"tenant":"acme"}`); isRefused(got) || !slices.Contains(*calls, `as reader on desk, app.tenant = "acme"`) {
			t.Errorf("%s did %q: %s", name, *calls, got)
		}
		*calls = nil
	}
	for _, name := range []string{"maybe", "goes_on"} {
		if got := callTenant(t, h, name, `{"other":1}`); isRefused(got) || !slices.Equal(*calls, []string{"first"}) {
			t.Errorf("%s did %q: %s", name, *calls, got)
		}
		*calls = nil
	}
	const changed, unchanged = `the step \"a\" was carried out and is not undone`, "nothing was changed"
	for name, done := range map[string]string{"changed": changed, "inside": changed, "has_read": unchanged} {
		got := callTenant(t, h, name, `{"other":1}`)
		if !isRefused(got) || !strings.Contains(got, "the caller has no tenant; "+done) || strings.Contains(got, "nothing was sent") {
			t.Errorf("%s: %s", name, got)
		}
	}
	program, _ := h.Current().Program("always")
	if _, err := program.Plan(t.Context(), nil, []byte(`{}`)); err == nil || !strings.Contains(err.Error(), "has no tenant") {
		t.Errorf("a plan for nobody: %v", err)
	}
}

// A reload that changes a value which the identity reads, and not the connection block, changes as whom calls act.
func TestAReloadChangesAsWhomCallsAct(t *testing.T) {
	option, _ := withTenants(nil)
	src := func(of string) string {
		return "locals { tenants = { a = \"" + of + "\" } }\n" +
			"connection \"tenant\" \"desk\" { tenant = local.tenants[caller.claims.tenant] }\n" +
			tool("own", caching+`tenant "desk" {}
			text = output.tenant`)
	}
	h := newHost(t, src("acme"), option)
	for _, of := range []string{"acme", "globex"} {
		load(t, h, src(of))
		for range 2 {
			if got := callTenant(t, h, "own", `{"tenant":"a"}`); !strings.Contains(got, `app.tenant = \"`+of) {
				t.Errorf("a call as %s answers %s", of, got)
			}
		}
	}
}

// Two tenants ask the same. A cache that callers share keeps the answers of identities apart, whatever its key has.
func TestASharedCacheKeepsIdentitiesApart(t *testing.T) {
	option, calls := withTenants(nil)
	h := newHost(t, desk+tool("own", caching+`tenant "desk" {}
		text = output.tenant`)+tool("shared", `read_only = true
		cache {
			ttl   = "1m"
			scope = "public"
			key   = [caller.groups]
		}
		tenant "desk" {}
		text = output.tenant`), option)
	for _, name := range []string{"own", "shared"} {
		for range 2 {
			for _, tenant := range []string{"acme", "evil"} {
				if got := callTenant(t, h, name, fmt.Sprintf(`{"tenant":%q}`, tenant)); !strings.Contains(got, `app.tenant = \"`+tenant) {
					t.Errorf("%s answers %s: %s", name, tenant, got)
				}
			}
		}
	}
	if len(*calls) != 4 {
		t.Errorf("2 tools were called for 2 tenants: %q", *calls)
	}
}

// The identity is a part of what is approved, also where it has a claim that a new token changes.
func TestAnApprovalHoldsForTheIdentityThatWasShown(t *testing.T) {
	option, calls := withTenants(nil)
	h := newHost(t, strings.Replace(desk, "claims.tenant", "claims.jti", 1)+tool("t", "approval {}\ntenant \"desk\" { writes = true }\ntext = output.tenant"), option)
	approver := newApprover(t, h)
	start := func(ctx context.Context, claims string) <-chan string {
		said := make(chan string, 1)
		req := modernRequest("t", `{}`, `{}`)
		withClaims(claims, nil)(req.Caller)
		go func() { said <- callWithin(ctx, h, req) }()
		return said
	}
	gone, leave := context.WithCancel(t.Context())
	said := start(gone, `{"jti":"a","exp":1}`)
	a := approver.waitForPending(1)[0]
	if !strings.Contains(a.Effect, `one transaction as reader on desk, app.tenant = "a"`) {
		t.Errorf("shown %q", a.Effect)
	}
	leave()
	<-said
	approver.decide(a, true, "")
	other := start(t.Context(), `{"jti":"b","exp":1}`)
	b := approver.waitForPending(1)[0]
	if b.ID == a.ID || len(*calls) > 0 {
		t.Errorf("what was approved for a is done for b: %q", *calls)
	}
	approver.decide(b, false, "")
	<-other
	if got := <-start(t.Context(), `{"jti":"a","exp":2}`); isRefused(got) || !slices.Equal(*calls, []string{`as reader on desk, app.tenant = "a"`}) {
		t.Errorf("what was approved: %q %s", *calls, got)
	}
}

func TestRecordsSayAsWhomCallsActWithoutWhatIsOmitted(t *testing.T) {
	const tools = `connection "tenant" "desk" {
		tenant   = caller.claims.tenant
		instance = caller.claims.region
	}
	`
	src := tools + tool("inner", `tenant "desk" { writes = true }`) + tool("t", "step \"a\" {\n  tool \"inner\" {}\n}\ntext = \"done\"")
	for omitted, want := range map[string]string{
		``:                                      `as reader on tenant.desk[eu], app.tenant = "acme"`,
		"omit = [\"app.tenant\", \"instance\"]": `as reader on tenant.desk`,
		"omit = [\"role\"]":                     `on tenant.desk[eu], app.tenant = "acme"`,
	} {
		option, _ := withTenants(nil)
		h, path := newAuditedHost(t, src, option)
		load(t, h, "audit {\n  file = \"audit.jsonl\"\n  "+omitted+"\n}\n"+src)
		if got := callTenant(t, h, "t", `{"tenant":"acme","region":"eu"}`); isRefused(got) {
			t.Fatal(got)
		}
		callTenant(t, h, "t", `{"region":"eu"}`) // is refused, and acts as nobody
		all := slices.DeleteFunc(readRecords(t, path), func(r audit.Record) bool { return r.Event == audit.EventReload })
		for i, r := range all {
			acts := i < 2 // the intent and the end of the first call
			if len(r.Identities) > 1 || acts != (len(r.Identities) == 1) || acts && r.Identities[0].String() != want {
				t.Errorf("%s: record %d, %s of %s, has %+v", omitted, i, r.Event, r.Name, r.Identities)
			}
		}
	}
}

// An instance that is down has a health, a breaker and metrics of its own, and fails only those who call it.
func TestAnInstanceThatIsDownFailsOnlyItsCallers(t *testing.T) {
	option, calls := withTenants(map[string]bool{"eu": true})
	h := newHost(t, `connection "tenant" "desk" {
		tenant   = caller.claims.tenant
		instance = caller.claims.region
		breaker { failures = 1 }
	}
	`+tool("t", "tenant \"desk\" {}\ntext = output.tenant"), option)
	const eu, us = `{"tenant":"acme","region":"eu"}`, `{"tenant":"acme","region":"us"}`
	callTenant(t, h, "t", eu)
	if got := callTenant(t, h, "t", eu); !isRefused(got) || !strings.Contains(got, `\"desk[eu]\" has failed 1 times in a row`) {
		t.Errorf("what is down: %s", got)
	}
	if got := callTenant(t, h, "t", us); isRefused(got) || len(*calls) != 2 {
		t.Errorf("what is not: %s", got)
	}
	ready, _ := h.Readiness(t.Context())
	var said []string
	for _, c := range ready.Connections {
		said = append(said, fmt.Sprint(c.Name, " ", c.OK, " ", c.Breaker, " ", c.Error))
	}
	if want := []string{`tenant.desk[eu] false open "eu" does not answer`, "tenant.desk[us] true closed "}; !slices.Equal(said, want) {
		t.Errorf("got %q", said)
	}
	if !ready.Ready {
		t.Error("one instance that is down makes the server not ready")
	}
	var metered []string
	for _, c := range h.Current().Probes.Sample(t.Context()) {
		metered = append(metered, fmt.Sprint(c.Kind, " ", c.Name, " ", *c.Up, " ", c.Breaker))
	}
	if want := []string{"tenant desk[eu] false open", "tenant desk[us] true closed"}; !slices.Equal(metered, want) {
		t.Errorf("got %q", metered)
	}
}

// An approver is shown what the requester sees, what is approved runs as the requester, and a task keeps the claims that
// it has begun with, also after a restart by another user.
func TestTheRequesterActsAndNotWhoDecides(t *testing.T) {
	option, calls := withTenants(nil)
	path := t.TempDir() + "/state.db"
	src := desk + tool("pays", `task {}
	approval {
		before "now" {
			tenant "desk" {}
		}
	}
	tenant "desk" { writes = true }
	text = output.tenant`) + tool("asks", `task { mode = "required" }
	step "sure" {
		ask "sure" {
			elicit { message = "Sure?" }
		}
	}
	step "b" {
		tenant "desk" { writes = true }
	}
	text = "done"`)
	h := newHost(t, src, option, storedIn(t, path))
	start := func(tool string) string {
		req := modernRequest(tool, `{}`, following)
		withClaims(`{"tenant":"acme"}`, nil)(req.Caller)
		return mustCall(t, h, req).TaskID
	}
	pays := start("pays")
	approver := newApprover(t, h)
	a := approver.waitForPending(1)[0]
	if len(a.Before) != 1 || !strings.Contains(string(a.Before[0].Result), `app.tenant = \"acme\"`) {
		t.Errorf("before: %+v", a.Before)
	}
	approver.decide(a, true, "")
	asks, now := start("asks"), withClaims(`{"tenant":"other since"}`, nil)
	awaitStatus := func(task, status string) {
		waitFor(t, func() bool {
			r, err := taskRequest(t, h, "tasks/get", task, "", now)
			return err == nil && r.Status == status
		})
	}
	awaitStatus(pays, "completed")
	awaitStatus(asks, "input_required")
	h.Close()
	h = newHost(t, src, option, storedIn(t, path))
	if _, err := taskRequest(t, h, "tasks/update", asks, `{"sure":{"action":"accept"}}`, now); err != nil {
		t.Fatal(err)
	}
	awaitStatus(asks, "completed")
	const as = `as reader on desk, app.tenant = "acme"`
	if !slices.Equal(*calls, []string{as, as, as}) {
		t.Errorf("called %q", *calls)
	}
}

// One person works for two tenants, with a token for each. What was done or read for one is not the answer, and not the
// past, of a call for the other.
func TestACallerWhoChangesTheTenantTakesNothingAlong(t *testing.T) {
	option, calls := withTenants(nil)
	h := newHost(t, desk+tool("pays", "idempotency { ttl = \"1h\" }\ntenant \"desk\" { writes = true }\ntext = output.tenant")+
		tool("copies", `step "a" {
		tenant "desk" {}
	}
	step "sure" {
		ask "sure" {
			elicit { message = "Sure?" }
		}
	}
	step "b" {
		tenant "desk" { writes = true }
	}
	text = "${step.a.tenant} and ${step.b.tenant}"`), option)
	as := func(req *mcp.CallRequest, tenant string, expires int) *mcp.CallRequest {
		withClaims(fmt.Sprintf(`{"tenant":%q,"exp":%d}`, tenant, expires), nil)(req.Caller)
		return req
	}
	for i, tenant := range []string{"acme", "evil", "acme", "evil"} {
		req := as(modernRequest("pays", `{"idempotency_key":"k"}`, `{}`), tenant, i)
		if got := mustCall(t, h, req).text(); !strings.Contains(got, tenant) {
			t.Errorf("the key of %s has the result %s", tenant, got)
		}
	}
	if len(*calls) != 2 {
		t.Errorf("a key of 2 tenants: %q", *calls)
	}
	*calls = nil
	req := as(modernRequest("copies", `{}`, everything), "acme", 1)
	const yes = `{"sure":{"action":"accept"}}`
	paused := mustCall(t, h, req).RequestState
	if _, err := tryCall(t, h, retryRequest(as(req, "evil", 2), paused, yes)); !isInvalidState(err) || len(*calls) != 1 {
		t.Errorf("a call of another tenant continues: %v, %q", err, *calls)
	}
	if got := mustCall(t, h, retryRequest(as(req, "acme", 3), paused, yes)).text(); strings.Count(got, "acme") != 2 {
		t.Errorf("a call that goes on with a new token: %s", got)
	}
}
