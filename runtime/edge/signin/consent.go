package signin

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strings"

	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/signin/client"
	"hatchel/runtime/edge/signin/provider"
)

// consentData is the data of the consent page.
type consentData struct {
	Client   string // what names the client: the host of its document, for example
	Name     string // what the client calls itself; empty for nothing
	Warning  string // what is not known of the name
	Redirect string // where the answer goes
	Toolset  string // whose tools alone the client may use; empty for all
	Other    string // the resource of another server; empty for this one
	Scopes   []consentScope
	Form     string
	Provider string // host of the provider
}

type consentScope struct{ Name, Description string }

// writeConsent asks the person whether a client may use the server in their name.
func (q *request) writeConsent(t *transaction, c *client.Client) error {
	form, err := q.seal(t, consentUse)
	if err != nil {
		return err
	}
	shown := c.Describe(t.Redirect)
	data := &consentData{
		Client: shown.Title, Name: shown.Name, Warning: shown.Warning, Redirect: shown.Redirect, Form: form,
		Provider: hostOf(q.decl.Provider),
	}
	if whole := q.decl.Resource(""); t.Resource != whole {
		if toolset, ok := strings.CutPrefix(t.Resource, whole+"/"); ok {
			data.Toolset = toolset
		} else {
			data.Other = t.Resource
		}
	}
	for _, block := range q.decl.ScopeBlocks {
		if slices.Contains(t.Scopes, block.Name) {
			data.Scopes = append(data.Scopes, consentScope{block.Name, block.Description})
		}
	}
	q.writePage(http.StatusOK, "consent", "Allow access", data, "")
	return nil
}

// consent answers the form of the consent page.
func (s *Server) consent(q *request) error {
	if site := q.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return &pageError{
			status: http.StatusForbidden, isAttack: true, text: "A page of another site has sent this form.",
		}
	}
	if err := q.checkRepeated(); err != nil {
		return err
	}
	t, err := q.open(q.form.Get("form"), consentUse)
	if err != nil {
		return err
	}
	if q.form.Get("decision") != "allow" {
		q.unbind(t)
		q.record(&event{outcome: audit.Denied, grant: q.newGrant(t), rule: consentRule})
		refused := &oauthError{code: "access_denied", text: "the person has denied it"}
		q.lead("Denied", "The program was not allowed to use this server.", "Go back to the program",
			q.errorAddress(t.Redirect, t.State, refused))
		return nil
	}
	return q.leadToProvider(t)
}

// leadToProvider leads the browser to the provider, where the person signs in.
func (q *request) leadToProvider(t *transaction) error {
	t.Verifier, t.Nonce = rand.Text()+rand.Text(), rand.Text()
	state, err := q.seal(t, stateUse)
	if err != nil {
		return err
	}
	address, err := q.g.SignIn.Provider.AuthorizationURL(q.Context(), provider.Ask{
		State: state, Nonce: t.Nonce, Verifier: t.Verifier, Prompt: t.Prompt, LoginHint: t.LoginHint,
	})
	if err != nil {
		return q.refuseByProvider(t, err)
	}
	host := hostOf(q.decl.Provider)
	q.lead("Sign in", "Your browser goes on to "+host+", where you sign in.", "Continue to "+host, address)
	return nil
}
