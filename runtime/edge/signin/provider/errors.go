package provider

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"hatchel/internal/cut"
	"hatchel/internal/lazyregexp"
	"hatchel/runtime/edge/auth/issuer"
)

// Error is why the provider has not signed a person in. It has no token, no code, and no body of a response.
type Error struct {
	Page string // for the person: sentences
	Log  string // for the operator: a clause
	Code string // for the client that the person uses (RFC 6749, sections 4.1.2.1 and 5.2)

	kind error // ErrEnded, ErrUnavailable, or nil
}

// Kinds of errors, for errors.Is.
var (
	// ErrEnded is the kind of errors after which only the person can go on, by signing in again.
	ErrEnded = errors.New("the sign-in at the provider has ended")
	// ErrUnavailable is the kind of errors that say nothing about the person: the provider did not answer, or does not
	// accept this server as its client.
	ErrUnavailable = errors.New("the provider is not available")
)

func (e *Error) Error() string { return e.Log }

func (e *Error) Unwrap() error { return e.kind }

// Codes of errors.
const (
	codeAccessDenied = "access_denied"
	codeInvalidGrant = "invalid_grant"
	codeServer       = "server_error"
	codeTemporary    = "temporarily_unavailable"
	codeUnauthorized = "unauthorized" // of Auth0, for a person who is blocked or whom a rule denies access
)

// Sentences for people.
const (
	pageUnavailable = "The provider is not available at the moment. Try again in a few minutes."
	pageOperator    = "This server could not sign you in at the provider. Its operator finds the reason in the log."
	pageAgain       = "The sign-in took too long, or was used before. Begin it again."
	pageDenied      = "You are not signed in: the provider reports that you or its rules did not allow it."
	pageStep        = "The provider requires another step of you, such as a second factor or a consent. Begin the " +
		"sign-in again."
	pageNotAssigned = "Your account is not assigned to this application at the provider. Ask its administrator."
	pageConsent     = "This application needs the consent of an administrator of the provider. Ask one of them."
	pageRules       = "A rule of the provider does not admit this device or this network. Ask its administrator."
	pageIdentity    = "The provider did not say who you are in the way that this server expects. Ask its operator."
)

// unavailable returns the error for a provider that does not answer as one.
func unavailable(log string) *Error {
	return &Error{Page: pageUnavailable, Log: log, Code: codeTemporary, kind: ErrUnavailable}
}

// refused returns the error for what the provider has sent and this server does not accept.
func refused(log string) *Error { return &Error{Page: pageIdentity, Log: log, Code: codeServer} }

// requestFault says why a request failed, in one line.
func requestFault(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// codePattern matches the code of an error (RFC 6749, section 5.2), as far as providers need it.
var codePattern = lazyregexp.New(`^[A-Za-z0-9._-]{1,64}$`)

// quoted returns a text of others for the log.
func quoted(text string) string { return strconv.Quote(cut.Runes(text, 200)) }

// codeOf returns the code of an error, or what can be said of one that is none.
func codeOf(text string) string {
	if codePattern.MatchString(text) {
		return text
	}
	return "an error without a valid code"
}

// entraCode matches the number of an error of Entra in its description.
var entraCode = lazyregexp.New(`\bAADSTS[0-9]{4,9}\b`)

// authorizationError returns the error that an authorization response has (RFC 6749, section 4.1.2.1; OpenID Connect
// Core 1.0, section 3.1.2.6). The description comes from the provider through the browser.
func authorizationError(code, description string) *Error {
	e := &Error{Page: pageOperator, Code: codeServer, Log: "the provider refused: " + codeOf(code)}
	if description != "" {
		e.Log += ", " + quoted(description)
	}
	switch code {
	case codeAccessDenied, codeUnauthorized:
		e.Page, e.Code = pageDenied, codeAccessDenied
	case "interaction_required", "login_required", "consent_required", "account_selection_required":
		e.Page, e.Code = pageStep, codeAccessDenied
	case codeServer, codeTemporary:
		e.Page, e.Code, e.kind = pageUnavailable, codeTemporary, ErrUnavailable
	}
	e.explain(entraCode.FindString(description))
	return e
}

// entraErrors says of errors of Entra what the person reads, and what the operator can do. An empty page is that of the
// code.
var entraErrors = map[string]struct{ page, hint string }{
	"AADSTS50011":   {pageOperator, "register the address of this server and " + CallbackPath + " at the application"},
	"AADSTS50020":   {pageNotAssigned, "the account is of another tenant"},
	"AADSTS50105":   {pageNotAssigned, "the person is not assigned to the application"},
	"AADSTS50076":   {pageStep, "the tenant requires a second factor"},
	"AADSTS50079":   {pageStep, "the tenant requires a second factor"},
	"AADSTS50158":   {pageRules, "a policy of conditional access is not satisfied"},
	"AADSTS53000":   {pageRules, "a policy of conditional access requires a managed device"},
	"AADSTS53003":   {pageRules, "a policy of conditional access blocks the sign-in"},
	"AADSTS65001":   {pageConsent, "nobody has consented to the scopes"},
	"AADSTS65004":   {pageDenied, "the person has declined the consent"},
	"AADSTS90094":   {pageConsent, "an administrator must consent to the scopes"},
	"AADSTS90095":   {pageConsent, "an administrator must consent to the scopes"},
	"AADSTS70011":   {pageOperator, "scopes names one that the application does not have"},
	"AADSTS700016":  {pageOperator, "the tenant has no application with this client_id"},
	"AADSTS700025":  {pageOperator, "the application is a public client: register the address for the platform Web"},
	"AADSTS700027":  {pageOperator, "the key or its certificate is not registered at the application"},
	"AADSTS7000215": {pageOperator, "client_secret is not a secret of the application; its value is not its id"},
	"AADSTS7000222": {pageOperator, "client_secret has expired"},
	"AADSTS9002313": {pageOperator, "the request is not one that Entra accepts"},
}

// explain adds what is known of an error of Entra.
func (e *Error) explain(code string) {
	if code == "" {
		return
	}
	if !strings.Contains(e.Log, code) {
		e.Log += ", " + code
	}
	known, ok := entraErrors[code]
	if !ok {
		return
	}
	e.Page = known.page
	e.Log += ": " + known.hint
}

// endingCodes are the errors of token responses after which only the person can go on.
var endingCodes = []string{
	codeInvalidGrant, codeAccessDenied, codeUnauthorized, "interaction_required", "login_required", "consent_required",
}

// tokenError returns the error that a token response has (RFC 6749, section 5.2). Of its members the log has the code
// alone, and the number of an error of Entra.
func tokenError(resp *issuer.Response, m *tokenResponse, isRefresh bool) *Error {
	log := "the token endpoint of the provider answered with status " + strconv.Itoa(resp.Status)
	if m == nil || m.Error == "" {
		return unavailable(log + " and no error that can be read")
	}
	log += ", " + codeOf(m.Error)
	e := &Error{Page: pageOperator, Log: log, Code: codeServer, kind: ErrUnavailable}
	isTemporary := resp.Status >= http.StatusInternalServerError || resp.Status == http.StatusTooManyRequests ||
		m.Error == codeServer || m.Error == codeTemporary || m.Error == "slow_down"
	switch {
	case isTemporary:
		e.Page, e.Code = pageUnavailable, codeTemporary
	case slices.Contains(endingCodes, m.Error) && isRefresh:
		e.Page, e.Code, e.kind = pageAgain, codeInvalidGrant, ErrEnded
	case m.Error == codeInvalidGrant:
		e.Page, e.Code, e.kind = pageAgain, codeAccessDenied, ErrEnded
	case slices.Contains(endingCodes, m.Error):
		e.Page, e.Code, e.kind = pageStep, codeAccessDenied, ErrEnded
	}
	e.explain(entraCode.FindString(m.Description))
	return e
}
