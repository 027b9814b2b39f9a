package signin

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/internal/lazyregexp"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/edge/signin/client"
)

const (
	maxState    = 4 << 10 // bytes of the state of a client, which travels to the provider and back
	maxRedirect = 2 << 10
	maxHint     = 320 // bytes of a login_hint; a longer one is no address of a person
)

// challengeForm is the form of a challenge with S256: 32 bytes as base64url (RFC 7636, section 4.2).
var challengeForm = lazyregexp.New(`^[A-Za-z0-9_-]{43}$`)

// kinds are the names of the kinds of clients in grants.
var kinds = map[client.Kind]string{
	client.BuiltIn: grant.BuiltIn, client.Declared: grant.Declared, client.Document: grant.Document,
	client.Registered: grant.Registered,
}

// authorize answers a request for authorization with the consent page. It stores nothing. Until the client and its
// redirect address are known, errors are pages: an address that nobody has registered is none to lead to.
func (s *Server) authorize(q *request) error {
	if err := q.checkRepeated("client_id", "redirect_uri"); err != nil {
		return err
	}
	id, redirect := q.form.Get("client_id"), q.form.Get("redirect_uri")
	if id == "" {
		return invalidRequest("the request names no program: client_id is missing")
	}
	c, err := q.g.SignIn.Clients.Find(q.Context(), id, q.network)
	if err != nil {
		return refusedClient(err)
	}
	if redirect == "" && len(c.Redirects) == 1 {
		redirect = c.Redirects[0]
	}
	switch {
	case c.ID == client.Console || !c.MayUse("authorization_code"):
		return &pageError{status: http.StatusBadRequest, text: "This program does not sign people in in a browser."}
	case redirect == "":
		return invalidRequest("the request names no address for the answer: redirect_uri is missing")
	case len(redirect) > maxRedirect || !c.AcceptsRedirect(redirect):
		return &pageError{status: http.StatusBadRequest, text: "This program asks to come back to an address that " +
			"its registration does not have."}
	}
	t, err := q.checkAuthorization()
	var known *oauthError
	if errors.As(err, &known) {
		state := ""
		if len(q.form["state"]) == 1 {
			state = q.form.Get("state")
		}
		q.logRefused(nil, known)
		q.redirect(q.errorAddress(redirect, state, known))
		return nil
	}
	t.Client, t.ClientName, t.ClientKind, t.ClientKeys = c.ID, c.Name, kinds[c.Kind], c.Keys
	t.Redirect = redirect
	return q.writeConsent(t, c)
}

// refusedClient returns the page for a client that is not found.
func refusedClient(err error) error {
	var refused *client.Refusal
	if errors.As(err, &refused) {
		return &pageError{status: refused.Status, text: sentence(refused.Text)}
	}
	return err
}

// checkAuthorization returns the sign-in that a request of a known client asks for. The error is an oauthError.
func (q *request) checkAuthorization() (*transaction, error) {
	if err := q.checkRepeated(); err != nil {
		return nil, err
	}
	value := q.form.Get
	switch {
	case value("request") != "":
		return nil, &oauthError{code: "request_not_supported", text: "send the parameters themselves"}
	case value("request_uri") != "":
		return nil, &oauthError{code: "request_uri_not_supported", text: "send the parameters themselves"}
	case value("response_type") == "":
		return nil, invalidRequest("response_type is missing; it must be code")
	case value("response_type") != "code":
		return nil, &oauthError{code: "unsupported_response_type", text: "response_type must be code"}
	case value("response_mode") != "" && value("response_mode") != "query":
		return nil, invalidRequest("response_mode must be query")
	case value("code_challenge") == "":
		return nil, invalidRequest("code_challenge is missing; PKCE with S256 is required")
	case value("code_challenge_method") != "S256":
		return nil, invalidRequest("code_challenge_method must be S256")
	case !challengeForm.MatchString(value("code_challenge")):
		return nil, invalidRequest("code_challenge is not one of S256: 43 characters of base64url")
	case len(value("state")) > maxState:
		return nil, invalidRequest("state may have at most 4096 characters")
	case !utf8.ValidString(value("state")): // which is sealed as JSON
		return nil, invalidRequest("state is not UTF-8")
	}
	prompts := q.words("prompt")
	if slices.Contains(prompts, "none") {
		return nil, &oauthError{code: "consent_required", text: "a person is asked before every sign-in"}
	}
	resource, err := q.resource()
	if err != nil {
		return nil, err
	}
	t := q.newTransaction(q.decl.URL)
	t.State, t.Challenge, t.Resource = value("state"), value("code_challenge"), cmp.Or(resource, q.decl.Resource(""))
	t.Scopes = q.declaredScopes(q.words("scope"))
	t.Prompt = providerPrompt(prompts)
	if hint := value("login_hint"); len(hint) <= maxHint {
		t.LoginHint = hint
	}
	return t, nil
}

// providerPrompt returns what the provider is asked of the values of prompt that a client has sent.
func providerPrompt(prompts []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(prompts), func(p string) bool {
		return p != "login" && p != "select_account"
	}), " ")
}

// declaredScopes returns those of the scopes that a scope block grants.
func (q *request) declaredScopes(asked []string) (scopes []string) {
	for _, block := range q.decl.ScopeBlocks {
		if slices.Contains(asked, block.Name) {
			scopes = append(scopes, block.Name)
		}
	}
	return scopes
}
