package signin

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"hatchel/internal/cut"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/edge/signin/provider"
)

// The rules that the audit log names.
const (
	consentRule  = "consent"           // the person has decided
	allowRule    = "sign_in.allow"     // the rule of the block has decided
	providerRule = served.ProviderRule // the provider has not signed the person in
)

// event is what has happened to a sign-in, for the audit log, the log and the metrics.
type event struct {
	outcome string       // of the package audit
	grant   *grant.Grant // without a subject where the person is not known
	rule    string
	text    string // empty for the scopes
}

// rule returns the rule that has admitted a person.
func (q *request) rule() string {
	if q.decl.Allow == nil {
		return "default"
	}
	return allowRule
}

// admit checks the rules of the server for the person of a grant, and reports whether the person is admitted. The grant
// keeps those of the scopes that the person may have.
func (q *request) admit(g *grant.Grant) (bool, error) {
	own := q.g.Authenticator.Own()
	i, err := own.IdentityOf(g)
	if err != nil {
		return false, err
	}
	if !own.Admits(i) {
		q.record(&event{outcome: audit.Refused, grant: g, rule: allowRule})
		return false, nil
	}
	g.Scopes = own.Permitted(i, g.Scopes)
	return true, nil
}

// record records an event that cannot be undone, such as a refusal.
func (q *request) record(e *event) {
	q.log(e)
	if q.g.Audit != nil {
		q.g.Record(q.Context(), q.auditRecord(e))
	}
}

// recordFirst records an event that must not happen unrecorded.
func (q *request) recordFirst(e *event) error {
	if q.g.Audit != nil {
		if err := q.g.Audit.Append(q.auditRecord(e), true); err != nil {
			q.g.Env.LogAuditFailure(q.Context(), err)
			return unavailable
		}
	}
	q.log(e)
	return nil
}

// auditRecord returns the record of an event.
func (q *request) auditRecord(e *event) *audit.Record {
	r := q.g.SignInRecord(&mcp.Caller{Remote: q.remote, Header: q.Header}, e.grant)
	r.Outcome, r.Rule, r.Message = e.outcome, e.rule, e.text
	if r.Message == "" && len(e.grant.Scopes) > 0 {
		r.Message = "Scopes: " + strings.Join(e.grant.Scopes, " ")
	}
	return r
}

// levels are those of the log lines of outcomes.
var levels = map[string]slog.Level{
	audit.Consented: slog.LevelInfo, audit.Denied: slog.LevelInfo, audit.Refused: slog.LevelWarn,
	audit.Refreshed: slog.LevelDebug, audit.Replayed: slog.LevelWarn, audit.Revoked: slog.LevelInfo,
	audit.Asserted: slog.LevelInfo,
}

// log logs and counts an event.
func (q *request) log(e *event) {
	q.g.Metrics.SignIn(e.outcome)
	q.server.Log.LogAttrs(q.Context(), levels[e.outcome], "sign-in "+e.outcome,
		slog.String("client", served.ClientName(e.grant)), slog.String("subject", e.grant.Subject),
		slog.String("rule", e.rule), slog.String("remote", q.remote))
}

// explain logs a failure that is none of the request, and returns what the client learns.
func (q *request) explain(err error) *oauthError {
	var failed *provider.Error
	switch {
	case errors.As(err, &failed):
		q.logProvider(err)
	case q.Context().Err() != nil:
	default:
		q.server.Log.ErrorContext(q.Context(), "sign-in failed", slog.String("path", q.URL.Path),
			slog.String("error", q.g.Env.Scrubber.Text(err.Error())))
	}
	q.g.Metrics.SignIn(audit.Failed)
	return unavailable
}

// logRefused logs a request that is refused because of what it says: as a page or an error for a program, of which one
// is not nil. It logs neither failures of the server nor those of many requests.
func (q *request) logRefused(shown *pageError, known *oauthError) {
	switch {
	case shown != nil && shown.status < http.StatusInternalServerError && shown.status != http.StatusTooManyRequests:
		q.logRequest(shown.text)
	case shown == nil && known.status < http.StatusInternalServerError && known.status != http.StatusTooManyRequests:
		q.logRequest(known.Error())
	}
}

// logRequest logs why a request is refused, with the client and the address that it names. Anybody can send such
// requests, so a process logs at most maxRequests within requestPeriod.
func (q *request) logRequest(why string) {
	if _, ok := q.server.logged.take("", q.now); !ok {
		return
	}
	const maxShown = 200
	shown := func(name string) string { return cut.Runes(q.g.Env.Scrubber.Text(q.form.Get(name)), maxShown) }
	q.server.Log.InfoContext(q.Context(), "sign-in request refused", slog.String("path", q.URL.Path),
		slog.String("client", shown("client_id")), slog.String("redirect", shown("redirect_uri")),
		slog.String("error", q.g.Env.Scrubber.Text(why)), slog.String("remote", q.remote))
}

// logProvider logs a failure of the provider.
func (q *request) logProvider(err error) {
	q.server.Log.WarnContext(q.Context(), "sign-in at the provider failed",
		slog.String("error", q.g.Env.Scrubber.Text(err.Error())))
}
