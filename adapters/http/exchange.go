package http

import (
	"container/list"
	"context"
	"crypto/sha256"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
)

// The kinds of tokens that an exchange is about. RFC 8693, section 3.
const (
	exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"
	accessToken   = "urn:ietf:params:oauth:token-type:access_token"
	jwtToken      = "urn:ietf:params:oauth:token-type:jwt"
)

// mostExchanged is for how many callers a connection keeps tokens.
const mostExchanged = 10_000

// What is told to who cannot have its token exchanged.
const (
	noToken      = "the service is asked in the name of who calls, with a token that is made from the caller's own, and this caller has none: it takes a caller who has signed in with a token"
	tokenExpired = "the token that the caller has signed in with has expired since: the caller must authenticate again, and then call again"
	signInAgain  = "what the caller has signed in with is not taken any more: the caller must authenticate again, and then call again"
)

// subject is in whose name a token is asked for; the zero subject is the client itself.
type subject struct {
	token string
	until time.Time // it is good
}

func (s subject) secrets() []string {
	if s.token == "" {
		return nil
	}
	return []string{s.token}
}

func (o *oauth2) checkExchange(u *url.URL) (errs []error) {
	if !o.Exchange {
		for _, field := range []*string{&o.Audience, &o.Resource, &o.SubjectType, &o.RequestedType} {
			if *field != "" {
				errs = append(errs, hcl.Blame(field, "This is asked for when the token of a caller is exchanged. Write exchange = true, or what the token server takes otherwise in params."))
			}
		}
		return errs
	}
	if u != nil && u.Scheme == "http" && !loopback(u.Hostname()) {
		errs = append(errs, hcl.Blame(&o.TokenURL, "Tokens of callers are sent there, which nobody may read on the way: write https."))
	}
	if r, err := url.Parse(o.Resource); o.Resource != "" && (err != nil || !r.IsAbs() || r.Fragment != "" || strings.HasSuffix(o.Resource, "#")) {
		errs = append(errs, hcl.Blame(&o.Resource, "resource is a whole URL without a fragment, such as \"https://shop.example/api\"."))
	}
	if o.SubjectType != "" && !strings.HasPrefix(o.SubjectType, "urn:") {
		errs = append(errs, hcl.Blame(&o.SubjectType, "subject_token_type is the name of a kind of token, such as %q or %q.", accessToken, jwtToken))
	}
	if o.RequestedType != "" && o.RequestedType != accessToken && o.RequestedType != jwtToken {
		errs = append(errs, hcl.Blame(&o.RequestedType, "requested_token_type is %q or %q: no other kind signs in requests.", accessToken, jwtToken))
	}
	for _, name := range o.Params.Names() {
		if slices.Contains(ownFields, name) || name == "audience" && o.Audience != "" || name == "resource" && o.Resource != "" {
			errs = append(errs, hcl.Blame(&o.Params, "The field %s of the exchange has a value already.", name))
		}
	}
	return errs
}

// ownFields are those of an exchange that are no business of params.
var ownFields = []string{"grant_type", "subject_token", "subject_token_type", "requested_token_type", "client_id", "client_secret", "scope"}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// grant begins the form of a token request.
func (o *oauth2) grant(of subject) url.Values {
	if !o.Exchange {
		return url.Values{"grant_type": {"client_credentials"}}
	}
	form := url.Values{"grant_type": {exchangeGrant}, "subject_token": {of.token}, "subject_token_type": {accessToken}}
	for name, text := range map[string]string{"audience": o.Audience, "resource": o.Resource, "subject_token_type": o.SubjectType, "requested_token_type": o.RequestedType} {
		if text != "" {
			form.Set(name, text)
		}
	}
	return form
}

// bears reports whether an answer holds a token that signs in who has it. A JWT that was asked for as such is no access token to the token server, which calls its type N_A.
func (o *oauth2) bears(answer map[string]any) bool {
	kind, said := answer["token_type"].(string)
	if !o.Exchange {
		return !said || strings.EqualFold(kind, "bearer")
	}
	issued, _ := answer["issued_token_type"].(string)
	switch issued {
	case accessToken, "":
		return !said || strings.EqualFold(kind, "bearer")
	case jwtToken:
		return !said || strings.EqualFold(kind, "bearer") || o.RequestedType == jwtToken && strings.EqualFold(kind, "N_A")
	}
	return false
}

// exchanges keeps the tokens of callers, each under the caller and the token that it was made from. Those that were not asked for the longest make room.
type exchanges struct {
	server *tokenServer

	mu     sync.Mutex
	of     map[exchanged]*list.Element // of *kept; guarded by mu
	recent *list.List                  // of *kept, the last that was asked for first; guarded by mu
}

// exchanged is a caller and the digest of its token, which itself is not kept.
type exchanged struct {
	owner string
	token [sha256.Size]byte
}

type kept struct {
	key    exchanged
	tokens tokens
}

func newExchanges(server *tokenServer) *exchanges {
	return &exchanges{server: server, of: map[exchanged]*list.Element{}, recent: list.New()}
}

func (x *exchanges) sign(ctx context.Context, _ *hcl.Frame, d *draft) error {
	if d.shown {
		d.header["Authorization"] = []string{"(bearer token by exchange)"}
		return nil
	}
	s, err := subjectOf(d.call)
	if err != nil {
		return err
	}
	d.secrets = append(d.secrets, s.token)
	text, err := x.tokens(d.call.Owner, s).token(ctx, s)
	if err != nil {
		return err
	}
	d.authorize("Bearer ", text, text)
	d.fetched = text
	return nil
}

// forget implements renewer.
func (x *exchanges) forget(d *draft) {
	if s, err := subjectOf(d.call); err == nil {
		x.tokens(d.call.Owner, s).forget(d)
	}
}

// subjectOf is in whose name a call is made. A call that goes on later than its caller's token is good is in nobody's.
func subjectOf(call *adapters.Call) (s subject, err error) {
	if call.Token == nil {
		return s, &adapters.Fault{Message: noToken, Untouched: true}
	}
	if s.token, s.until = call.Token(); !time.Now().Before(s.until) {
		return s, &adapters.Fault{Message: tokenExpired, Untouched: true}
	}
	return s, nil
}

// tokens are those of one caller with one token.
func (x *exchanges) tokens(owner string, s subject) *tokens {
	key := exchanged{owner, sha256.Sum256([]byte(s.token))}
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.of[key]; e != nil {
		x.recent.MoveToFront(e)
		return &e.Value.(*kept).tokens
	}
	k := &kept{key: key, tokens: tokens{server: x.server}}
	x.of[key] = x.recent.PushFront(k)
	if len(x.of) > mostExchanged {
		oldest := x.recent.Back()
		delete(x.of, x.recent.Remove(oldest).(*kept).key)
	}
	return &k.tokens
}
