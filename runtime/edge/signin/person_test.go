package signin_test

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"hatchel/runtime/durable/audit"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/edge/auth/issuertest"
	"hatchel/runtime/edge/served"
)

// TestWhomTheServerDoesNotAdmitReadsWhy signs in as somebody whom allow does not admit.
func TestWhomTheServerDoesNotAdmitReadsWhy(t *testing.T) {
	r := openRig(t, declared+`allow = "'finance' in caller.groups"`, "")
	p := r.program("inspector", inspector)
	r.provider.SignIn(issuertest.Person{Subject: "eve", Groups: []string{"guests"}})
	end := p.authorize(newBrowser(t))
	const want = "You are signed in at the provider, but this server admits other groups. Ask its operator."
	if end.status != http.StatusForbidden || end.says() != want || end.location != "" {
		t.Errorf("%d %q leads to %q", end.status, end.says(), end.location)
	}
	if !strings.Contains(end.text, "error=access_denied") {
		t.Error("the page has no way back to the program")
	}
	if got := r.records(); !slices.Equal(got, []string{"refused inspector eve sign_in.allow"}) {
		t.Errorf("the audit log has %q", got)
	}
}

// TestDenyLeadsBackWithAnError denies on the consent page.
func TestDenyLeadsBackWithAnError(t *testing.T) {
	r := openRig(t, declared, "")
	p, b := r.program("inspector", inspector), newBrowser(t)
	consent := b.send("GET", p.request(), nil)
	end := b.send("POST", r.url+"/oauth/consent", url.Values{"form": {consent.form()}, "decision": {"deny"}})
	q := mustQuery(t, end.location)
	if end.status != http.StatusOK || !strings.HasPrefix(end.location, inspector) || q.Get("error") != "access_denied" ||
		q.Get("state") != "state of the client" || q.Get("iss") != r.url {
		t.Errorf("%d leads to %q", end.status, end.location)
	}
	if after := r.allow(b, consent); after.status != http.StatusForbidden {
		t.Errorf("Allow after Deny: %d leads to %q", after.status, after.location)
	}
	if got := r.records(); !slices.Equal(got, []string{"denied inspector  consent"}) {
		t.Errorf("the audit log has %q", got)
	}
}

// TestAReloadThatNarrowsAllowRefusesTheNextRequest narrows the rule while a token is valid.
func TestAReloadThatNarrowsAllowRefusesTheNextRequest(t *testing.T) {
	r := openRig(t, declared, "")
	p := r.program("inspector", inspector)
	a := p.signIn()
	r.mustCall(a.Access, "ada")
	r.load(declared+`allow = "'board' in caller.groups"`, "")
	if status, _ := r.call("/mcp", a.Access); status != http.StatusForbidden {
		t.Errorf("the next request is answered with %d", status)
	}
	if next := p.refresh(a.Refresh); next.Error != "invalid_grant" || next.Access != "" {
		t.Errorf("the refresh gives %+v", next)
	}
	r.load(declared, "")
	r.mustCall(p.refresh(a.Refresh).Access, "ada")
}

// TestAReloadThatNamesGroupsAnewMakesClientsRefresh changes group_names: tokens of before are refused, and the next ones
// have the new names without another sign-in.
func TestAReloadThatNamesGroupsAnewMakesClientsRefresh(t *testing.T) {
	r := openRig(t, declared, "")
	p := r.program("inspector", inspector)
	a := p.signIn()
	r.load(declared+`group_names = { "finance" = "money" }`, "")
	if status, _ := r.call("/mcp", a.Access); status != http.StatusUnauthorized {
		t.Errorf("a token of before is answered with %d", status)
	}
	next := p.refresh(a.Refresh)
	if next.status != http.StatusOK {
		t.Fatalf("the refresh gives %+v", next)
	}
	r.mustCall(next.Access, "ada of money")
	r.load(declared+`subject_claim = "other"`, "")
	if gone := p.refresh(next.Refresh); gone.Error != "invalid_grant" {
		t.Errorf("after another claim names people, the refresh gives %+v", gone)
	}
}

// TestFaultsOfTheProviderArePages has the provider fail in each way. Nobody gets a code.
func TestFaultsOfTheProviderArePages(t *testing.T) {
	r := openRig(t, declared, "")
	p := r.program("inspector", inspector)
	for name, f := range map[string]issuertest.Faults{
		"another issuer in the response": {ResponseIssuer: "https://evil.example"},
		"no issuer in the response":      {ResponseIssuer: "-"},
		"access_denied":                  {Error: "access_denied"},
		"another issuer":                 {IDToken: map[string]any{"iss": "https://evil.example"}},
		"another audience":               {IDToken: map[string]any{"aud": "other"}},
		"another nonce":                  {IDToken: map[string]any{"nonce": "other"}},
		"expired":                        {IDToken: map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}},
		"another azp":                    {IDToken: map[string]any{"azp": "other"}},
		"without a signature":            {Sign: unsigned},
		"no ID token":                    {NoIDToken: true},
		"too many groups":                {IDToken: map[string]any{"groups": nil, "_claim_names": map[string]any{"groups": "src1"}}},
		"a page in place of tokens":      {TokenBody: "<html>"},
		"a server error":                 {TokenStatus: 500},
	} {
		r.provider.SetFaults(f)
		end := p.authorize(newBrowser(t))
		if end.status < 400 || end.says() == "" || end.location != "" || strings.Contains(end.text, "code=") {
			t.Errorf("%s: %d %q leads to %q", name, end.status, end.says(), end.location)
		}
		if !strings.Contains(end.text, "error=") {
			t.Errorf("%s: the page has no way back to the program", name)
		}
		if name == "too many groups" && !strings.Contains(end.says(), "Entra sent no groups") {
			t.Errorf("%s: the page says %q", name, end.says())
		}
	}
	for _, record := range r.records() {
		if record != "refused inspector  provider" {
			t.Errorf("the audit log has %q", record)
		}
	}
}

func unsigned(c jwt.MapClaims) string {
	text, err := jwt.NewWithClaims(jwt.SigningMethodNone, c).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		panic(err)
	}
	return text
}

// brokenLog is an audit log that takes no records, once it is broken.
type brokenLog struct {
	served.AuditLog
	before func() // is called with each record
	broken bool
}

func (l *brokenLog) Append(r *audit.Record, durable bool) error {
	if l.broken {
		return errors.New("the disk is full")
	}
	l.before()
	return l.AuditLog.Append(r, durable)
}

// TestNobodySignsInUnrecorded breaks the audit log: no grant is stored, no code is given, and no token for a refresh.
// While it works, the record is there before the grant.
func TestNobodySignsInUnrecorded(t *testing.T) {
	r := openRig(t, declared, "")
	p := r.program("inspector", inspector)
	first := p.signIn()
	grants, err := r.host.Operator().State.Grants(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stored := func() int {
		list, _, err := grants.List(t.Context(), grant.Query{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	atRecord := -1
	log := &brokenLog{AuditLog: r.host.Current().Audit, before: func() { atRecord = stored() }}
	r.host.Current().Audit = log
	second := p.signIn()
	if after := stored(); atRecord != 1 || after != 2 {
		t.Errorf("at the record there were %d grants, and %d after it", atRecord, after)
	}
	log.broken = true
	if end := p.authorize(newBrowser(t)); end.status != http.StatusServiceUnavailable || end.location != "" ||
		end.header.Get("Retry-After") == "" {
		t.Errorf("the sign-in: %d leads to %q", end.status, end.location)
	}
	if a := p.refresh(first.Refresh); a.status != http.StatusServiceUnavailable || a.Access != "" ||
		a.header.Get("Retry-After") == "" {
		t.Errorf("the refresh gives %+v", a)
	}
	if n := stored(); n != 2 {
		t.Errorf("%d grants are stored", n)
	}
	log.broken = false
	if a := p.refresh(first.Refresh); a.Access == "" {
		t.Errorf("after the log works again, the refresh gives %+v", a)
	}
	r.mustCall(second.Access, "ada")
}

// TestNoLogHasATokenOrACode goes through the flow with failures, and looks for all that is secret in what is kept of it.
func TestNoLogHasATokenOrACode(t *testing.T) {
	r := openRig(t, declared+`claims = ["email"]`, "telemetry {\n  metrics {}\n}\n")
	r.provider.SignIn(issuertest.Person{
		Subject: "ada", Groups: []string{"finance"}, Claims: map[string]any{"email": "ada@private.example"},
	})
	p := r.program("inspector", inspector)
	code := p.code()
	p.redeem(flip(code))
	first := p.redeem(code)
	next := p.refresh(first.Refresh)
	p.refresh(flip(next.Refresh))
	r.post("/oauth/revoke", "token", next.Access, "client_id", "inspector")
	p.redeem(code)
	s := r.begin(t)
	newBrowser(t).send("GET", s.back, nil)
	r.provider.SetFaults(issuertest.Faults{TokenError: map[string]any{"error": "invalid_grant", "error_description": code}})
	s.browser.send("GET", s.back, nil)
	records, err := os.ReadFile(filepath.Join(r.dir, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	_, metrics := r.raw("/metrics", next.Access)
	kept := r.logged() + string(records) + metrics
	if !strings.Contains(kept, "sign-in consented") || !strings.Contains(kept, "sign-in request refused") {
		t.Error("the log lacks what was done")
	}
	secrets := append(r.provider.Given(), code, first.Access, first.Refresh, next.Access, next.Refresh, clientSecret,
		"ada@private.example", s.consent.form(), mustQuery(t, s.back).Get("state"), p.verifier)
	for _, secret := range secrets {
		if strings.Contains(kept, secret) {
			t.Errorf("the log, the audit log or the metrics have %q", secret)
		}
	}
}

// TestAPersonIsRenewedWithTheTokenOfTheProvider keeps the refresh token of the provider, changes the groups there, and
// removes the account. The access token is not kept, because no connection uses it.
func TestAPersonIsRenewedWithTheTokenOfTheProvider(t *testing.T) {
	r := openRig(t, declared+`scopes = ["openid", "offline_access"]`, "")
	r.program("inspector", inspector).signIn()
	grants, err := r.host.Operator().State.Grants(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := grants.List(t.Context(), grant.Query{Limit: 1})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d sign-ins, %v", len(list), err)
	}
	g, err := grants.Find(t.Context(), list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if u := g.Upstream; u == nil || u.Refresh == "" || u.Access != "" {
		t.Fatalf("the grant keeps %+v", u)
	}
	used := g.Upstream.Refresh
	r.provider.SetPerson(issuertest.Person{Subject: "ada", Groups: []string{"board"}})
	signIn := r.host.Current().SignIn
	if err := signIn.Renew(t.Context(), g); err != nil || !slices.Equal(g.Groups, []string{"board"}) || g.Upstream.Refresh == used {
		t.Errorf("%v: the groups are %v", err, g.Groups)
	}
	r.provider.SetFaults(issuertest.Faults{TokenStatus: 500})
	if err := signIn.Renew(t.Context(), g); err == nil || errors.Is(err, grant.ErrEnded) {
		t.Errorf("a provider that is down ends a sign-in: %v", err)
	}
	r.provider.SetFaults(issuertest.Faults{})
	r.provider.Remove("ada")
	if err := signIn.Renew(t.Context(), g); !errors.Is(err, grant.ErrEnded) {
		t.Errorf("a removed person is renewed: %v", err)
	}
	own := r.host.Current().Authenticator.Own()
	if err := own.Renew(t.Context(), g); !errors.Is(err, grant.ErrEnded) || !slices.Contains(r.records(), "revoked inspector ada provider") {
		t.Errorf("%v: a call or the console leaves the records %q", err, r.records())
	}
}
