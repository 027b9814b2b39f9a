package signin

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"hatchel/runtime/durable/grant"
)

// transactionLife is the time from a request for authorization to the answer of the provider.
const transactionLife = 10 * time.Minute

// The uses of a sealed transaction. A text of one step is none of the other.
const (
	consentUse = "consent" // in the form of the consent page
	stateUse   = "state"   // in the state that the provider gets
)

// transaction is one sign-in until the provider has answered. The browser and the provider keep it, sealed.
type transaction struct {
	ID       string    `json:"i"`
	Binding  []byte    `json:"b"`           // digest of the cookie of the browser
	Secure   bool      `json:"t,omitempty"` // the browser reaches the server over https
	Ends     time.Time `json:"e"`
	Provider string    `json:"p"`           // that the person is sent to
	Verifier string    `json:"v,omitempty"` // of the request to the provider; empty before
	Nonce    string    `json:"n,omitempty"`

	Client     string          `json:"c"`
	ClientName string          `json:"cn,omitempty"`
	ClientKind string          `json:"ck"`
	ClientKeys json.RawMessage `json:"cj,omitempty"`

	// What follows is empty for the console.
	Redirect  string   `json:"r,omitempty"`
	State     string   `json:"s,omitempty"`
	Challenge string   `json:"h,omitempty"`
	Resource  string   `json:"a,omitempty"`
	Scopes    []string `json:"o,omitempty"`
	Prompt    string   `json:"m,omitempty"`
	LoginHint string   `json:"l,omitempty"`

	// Next is where the console leads after its sign-in, and Callback its address if that is not the declared one.
	Next     string `json:"x,omitempty"`
	Callback string `json:"y,omitempty"`
}

// isConsole reports whether a person signs in to the console, which is part of this server.
func (t *transaction) isConsole() bool {
	return t.ClientKind == grant.BuiltIn && t.Client == grant.ConsoleClient
}

// newTransaction returns a sign-in that the browser of the request has begun at an address of the server.
func (q *request) newTransaction(at string) *transaction {
	t := &transaction{
		ID: rand.Text(), Ends: q.now.Add(transactionLife), Provider: q.decl.Provider,
		Secure: strings.HasPrefix(at, "https://"),
	}
	q.bind(t)
	return t
}

// seal returns a transaction as a text for one use.
func (q *request) seal(t *transaction, use string) (string, error) {
	plain, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	return q.grants.Sealer(use).Seal(plain), nil
}

// open returns the transaction of a text that this browser has begun. The error is for the person.
func (q *request) open(text, use string) (*transaction, error) {
	t, err := q.unseal(text, use)
	if err == nil && !q.isBound(t) {
		return nil, otherBrowser
	}
	return t, err
}

// unseal is open for the transaction of any browser.
func (q *request) unseal(text, use string) (*transaction, error) {
	t := new(transaction)
	plain, ok := q.grants.Sealer(use).Open(text)
	if !ok || json.Unmarshal(plain, t) != nil || q.now.After(t.Ends) {
		return nil, otherBrowser
	}
	if t.Provider != q.decl.Provider {
		return nil, &pageError{status: http.StatusForbidden, text: "The server signs people in elsewhere since this " +
			"sign-in was begun. Begin again in your program."}
	}
	return t, nil
}
