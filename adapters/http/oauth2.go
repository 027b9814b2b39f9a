package http

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	nethttp "net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// oauth2 is an oauth2 block: client credentials (RFC 6749, section 4.4), with which the token of who calls may be exchanged for one of the service (RFC 8693).
type oauth2 struct {
	TokenURL     string
	ClientID     hcl.SecretText
	ClientSecret hcl.SecretText
	Scopes       []string
	Params       *hcl.KeyValues
	ClientAuth   string

	Exchange      bool
	Audience      string
	Resource      string
	SubjectType   string
	RequestedType string
}

const (
	clientAuthBasic = "basic"
	clientAuthBody  = "body"
)

func (o *oauth2) spec() hcl.Spec {
	o.ClientAuth = clientAuthBasic
	return hcl.Spec{
		hcl.Attr(&o.TokenURL, "token_url", "Where tokens are given out.").Require(),
		hcl.Attr(&o.ClientID, "client_id", "The name of the client.").Require(),
		hcl.Attr(&o.ClientSecret, "client_secret", "Its secret.").Require(),
		hcl.Attr(&o.Scopes, "scopes", "What the token is asked to allow."),
		hcl.Attr(&o.Params, "params", "Further fields of the token request, as in { audience = \"https://api.example\" }.").AllowSecret().FixedKeys(),
		hcl.Attr(&o.ClientAuth, "client_auth", "How the client shows its secret: \"basic\", a header, or \"body\", fields of the request.").DefaultDoc(`"basic"`),
		hcl.Attr(&o.Exchange, "exchange", "true makes requests in the name of who calls: the token that the caller has signed in with is exchanged for one of the service (RFC 8693), for each caller. The caller's own goes to token_url only. Needs auth { jwt }."),
		hcl.Attr(&o.Audience, "audience", "With exchange: the name of the service that the token is to be for."),
		hcl.Attr(&o.Resource, "resource", "With exchange: the URL of the service that the token is to be for."),
		hcl.Attr(&o.SubjectType, "subject_token_type", "With exchange: what the caller's token is said to be.").DefaultDoc(`"` + accessToken + `"`),
		hcl.Attr(&o.RequestedType, "requested_token_type", "With exchange: what is asked for, \""+accessToken+"\" or \""+jwtToken+"\".").DefaultDoc("what the token server gives"),
	}
}

func (o *oauth2) check() (errs []error) {
	u, err := url.Parse(o.TokenURL)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		errs = append(errs, hcl.Blame(&o.TokenURL, "token_url is a whole URL such as \"https://login.example/oauth2/token\"."))
	}
	if o.ClientAuth != clientAuthBasic && o.ClientAuth != clientAuthBody {
		errs = append(errs, hcl.Blame(&o.ClientAuth, "client_auth is %q or %q, and this is %q.", clientAuthBasic, clientAuthBody, o.ClientAuth))
	}
	return append(errs, o.checkExchange(u)...)
}

// tokens keeps one token, of a connection or of a caller. One fetch is under way at most; whoever needs its token waits for it, and a fetch does not end with the
// call that began it.
type tokens struct {
	server *tokenServer

	mu      sync.Mutex
	current *token  // guarded by mu; nil when there is none
	flight  *flight // guarded by mu; nil when no fetch is under way
}

// tokenServer is where the tokens of a connection are fetched.
type tokenServer struct {
	config  *oauth2
	service *service
	dir     string
	life    context.Context // of the connection
	running sync.WaitGroup
}

// A token and when it is of no use any more; expires is zero when the server did not say.
type token struct {
	text    string
	renew   time.Time // from then on a new one is fetched, while this one is still used
	expires time.Time
}

// A flight is one fetch; token and err are written before done is closed.
type flight struct {
	done  chan struct{}
	token *token
	err   error
}

func (o *oauth2) signer(s *service, env adapters.Env) signer {
	life, cancel := context.WithCancel(s.life)
	server := &tokenServer{config: o, service: s, dir: env.Dir, life: life}
	env.Defer(func() error {
		cancel()
		server.running.Wait()
		return nil
	})
	if o.Exchange {
		return newExchanges(server)
	}
	return &tokens{server: server}
}

func (t *tokens) sign(ctx context.Context, _ *hcl.Frame, d *draft) error {
	if d.shown {
		d.authorize("Bearer ", hcl.Hidden)
		return nil
	}
	text, err := t.token(ctx, subject{})
	if err != nil {
		return err
	}
	d.authorize("Bearer ", text, text)
	d.fetched = text
	return nil
}

// token returns one that is still good, waiting for a fetch only when there is none.
func (t *tokens) token(ctx context.Context, of subject) (string, error) {
	t.mu.Lock()
	now := time.Now()
	if t.current != nil && !t.current.expires.IsZero() && now.After(t.current.expires) {
		t.current = nil
	}
	current, pending := t.current, t.flight
	if pending == nil && (current == nil || !current.renew.IsZero() && now.After(current.renew)) {
		pending = t.start(of)
	}
	t.mu.Unlock()
	if current != nil {
		return current.text, nil
	}
	select {
	case <-pending.done:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if pending.err != nil {
		return "", pending.err
	}
	return pending.token.text, nil
}

// start begins a fetch. The caller holds mu.
func (t *tokens) start(of subject) *flight {
	f := &flight{done: make(chan struct{})}
	t.flight = f
	t.server.running.Go(func() {
		got, err := t.server.fetch(of)
		t.mu.Lock()
		f.token, f.err, t.flight = got, err, nil
		if err == nil {
			t.current = got
		}
		t.mu.Unlock()
		close(f.done)
	})
	return f
}

// forget drops a token that the service refused, unless it was replaced already.
func (t *tokens) forget(d *draft) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current != nil && d.header.Get("Authorization") == "Bearer "+t.current.text {
		t.current = nil
	}
}

const maxTokenAnswer = 64 << 10

func (t *tokenServer) fetch(of subject) (*token, error) {
	form, header, err := t.config.request(t.life, t.dir, of)
	if err != nil {
		return nil, err
	}
	header["User-Agent"] = t.service.agent
	timeout := cmp.Or(t.service.timeout, defaultTimeout)
	ctx, cancel := context.WithTimeout(t.life, timeout)
	defer cancel()
	asked := time.Now()
	resp, err := t.service.send(unmoved(ctx), nethttp.MethodPost, t.config.TokenURL, header, []byte(form.Encode()))
	if err != nil {
		failed := networkFailure(err, timeout)
		return nil, signInFault(failed.message, failed.cause)
	}
	defer resp.Body.Close()
	raw, err := readBody(resp, maxTokenAnswer)
	if err != nil {
		failed := networkFailure(err, timeout)
		return nil, signInFault(failed.message, failed.cause)
	}
	_, signed, _ := strings.Cut(header.Get("Authorization"), " ")
	return t.config.answer(resp.StatusCode, raw, asked, of, signed)
}

func signInFault(message string, cause error) error {
	return &adapters.Fault{Message: "signing in failed: " + strings.Replace(message, "the service", "the token server", 1), Cause: cause}
}

func (o *oauth2) request(ctx context.Context, dir string, of subject) (url.Values, nethttp.Header, error) {
	form := o.grant(of)
	if len(o.Scopes) > 0 {
		form.Set("scope", strings.Join(o.Scopes, " "))
	}
	params, err := o.Params.Eval(hcl.NewFrame(ctx, dir, time.Now))
	if err != nil {
		return nil, nil, signInFault(err.Error(), err)
	}
	for _, p := range params {
		texts, err := scalars(p.Value)
		if err != nil {
			return nil, nil, signInFault(fmt.Sprintf("%s %v", p.Name, err), err)
		}
		form[p.Name] = texts
	}
	header := nethttp.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	id, secret := o.ClientID.Reveal(), o.ClientSecret.Reveal()
	if o.ClientAuth == clientAuthBody {
		form.Set("client_id", id)
		form.Set("client_secret", secret)
	} else {
		both := url.QueryEscape(id) + ":" + url.QueryEscape(secret)
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(both)))
	}
	return form, header, nil
}

// answer reads the answer to a token request, which was signed in so.
func (o *oauth2) answer(status int, raw []byte, asked time.Time, of subject, signed string) (*token, error) {
	v, err := value.Decode(raw)
	m, _ := v.(map[string]any)
	if status != nethttp.StatusOK {
		said := statusText(status)
		if code, ok := m["error"].(string); ok {
			said += ", " + code
		}
		if text, ok := m["error_description"].(string); ok {
			said += ": " + text
		}
		said = excerpt([]byte(said), "", append(of.secrets(), o.ClientSecret.Reveal(), url.QueryEscape(o.ClientSecret.Reveal()), signed))
		if code := m["error"]; code == "invalid_grant" && o.Exchange {
			return nil, &adapters.Fault{Message: signInAgain, Cause: errors.New(said), Untouched: true}
		}
		return nil, signInFault("the service answered "+said, errors.New(said))
	}
	text, _ := m["access_token"].(string)
	if err != nil || text == "" || !headerText(text) || !o.bears(m) || text == of.token {
		return nil, signInFault("the service answered without a bearer token", err)
	}
	t := &token{text: text, expires: of.until}
	seconds, ok := value.Float(m["expires_in"])
	if s, isText := m["expires_in"].(string); isText {
		seconds, ok = value.Float(value.Number(s))
	}
	if ok && seconds > 0 {
		life := time.Duration(min(seconds, 366*24*3600) * float64(time.Second))
		t.expires = asked.Add(life - min(life/10, 10*time.Second))
		t.renew = asked.Add(life - min(life/4, time.Minute))
	}
	return t, nil
}
