package auth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"hatchel/hcl"
	"hatchel/internal/logonce"
	"hatchel/internal/service"
	"hatchel/runtime/edge/auth/issuer"
	"hatchel/runtime/edge/mcp"
)

const (
	maxAnswers           = 10_000           // that are kept of tokens, and as many of refused ones
	answerLife           = 60 * time.Second // for which an answer is used, unless the token ends earlier
	refusalLife          = 10 * time.Second // for which a refusal is used
	maxIntrospections    = 32               // requests at once to one server
	maxQuestions         = 1000             // that wait for one of these requests, or have it
	introspectionTimeout = 5 * time.Second  // with the wait for one of these
)

// Client authenticates this server to an endpoint of an authorization server.
type Client interface {
	// Authenticate adds the credential to the form and the header of a request, and returns the secrets that they
	// then have.
	Authenticate(form url.Values, header http.Header, endpoint string) (secrets []string, err error)
}

// introspector asks an authorization server about tokens (RFC 7662).
type introspector struct {
	*hcl.Introspection
	client  Client
	http    *issuer.Client
	asking  *service.Group
	slots   chan struct{} // one for each request
	key     string        // of identities
	grant   string
	now     func() time.Time
	log     *slog.Logger
	problem logonce.Changes

	mu       sync.Mutex
	answers  *simplelru.LRU[tokenDigest, *answer] // of accepted tokens; guarded by mu
	refusals *simplelru.LRU[tokenDigest, *answer] // guarded by mu
	current  map[tokenDigest]*question            // that are asked; guarded by mu
}

// tokenDigest is the digest of a token. Tokens are not kept.
type tokenDigest = [sha256.Size]byte

// answer is what an authorization server has said of a token.
type answer struct {
	identity *mcp.Identity // without the token; nil if refused is not
	refused  *Refusal
	until    time.Time
}

// question is a request about a token, which all callers with that token share; answer is written before done is
// closed.
type question struct {
	done   chan struct{}
	answer answer
}

// introspectionUnavailable is returned when a token cannot be introspected.
var introspectionUnavailable = &Refusal{
	Status: http.StatusServiceUnavailable,
	Reason: "The token cannot be verified, because the server that issued it is not available. Try again shortly",
}

func newIntrospector(ctx context.Context, i *hcl.Introspection, o Options) *introspector {
	answers, _ := simplelru.NewLRU[tokenDigest, *answer](maxAnswers, nil) // it fails for size 0 only
	refusals, _ := simplelru.NewLRU[tokenDigest, *answer](maxAnswers, nil)
	in := &introspector{
		Introspection: i, http: issuer.NewClient(), asking: service.NewGroup(ctx),
		slots: make(chan struct{}, maxIntrospections), key: i.Origin(), now: o.Now,
		log: o.Log.With("introspection", i.URL), answers: answers, refusals: refusals,
		current: map[tokenDigest]*question{}, client: o.Client(&i.Client, i.Range),
		grant: grantOf("introspection", i.URL, i.Client.ID.Reveal(), i.Audience, i.SubjectClaim, i.GroupsClaim,
			i.RequiredScopes),
	}
	o.Defer(func() error {
		in.asking.Close()
		in.http.CloseIdleConnections()
		return nil
	})
	return in
}

// introspect authenticates the caller of a token that no declared issuer has signed. The first authorization server
// that knows the token decides. While one of them does not answer, a token that no other one accepts is not refused,
// since it may be valid.
func (c *Authenticator) introspect(
	ctx context.Context, text string, digest tokenDigest,
) (*mcp.Identity, *Refusal) {
	if len(text) > issuer.MaxTokenBytes {
		return nil, unknownCredential
	}
	var last *Refusal
	for _, in := range c.introspectors {
		i, refused := in.ask(ctx, text, digest)
		if refused == nil {
			return i, nil
		}
		if last == nil || refused == introspectionUnavailable {
			last = refused
		}
	}
	return nil, last
}

// ask returns the identity of a token, from an earlier answer or from the authorization server.
func (in *introspector) ask(ctx context.Context, text string, digest tokenDigest) (*mcp.Identity, *Refusal) {
	known, q := in.look(digest, text)
	if q != nil {
		select {
		case <-q.done:
			known = &q.answer
		case <-ctx.Done():
		}
	}
	switch {
	case known == nil:
		return nil, introspectionUnavailable
	case known.refused != nil:
		return nil, known.refused
	}
	i := *known.identity
	i.Token = func(context.Context) (string, time.Time, error) { return text, i.Expires, nil }
	return &i, nil
}

// look returns the kept answer of a token, or else the question that is asked; neither while too many are, and once
// this server stops.
func (in *introspector) look(digest tokenDigest, text string) (*answer, *question) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, kept := range []*simplelru.LRU[tokenDigest, *answer]{in.answers, in.refusals} {
		if a, ok := kept.Get(digest); ok && in.now().Before(a.until) {
			return a, nil
		}
	}
	q := in.current[digest]
	if q == nil && len(in.current) < maxQuestions {
		q = &question{done: make(chan struct{})}
		if !in.asking.Go(func(ctx context.Context) { in.answer(ctx, digest, text, q) }) {
			return nil, nil
		}
		in.current[digest] = q
	}
	return nil, q
}

// answer asks the authorization server a question, and keeps what it says, unless it does not answer.
func (in *introspector) answer(ctx context.Context, digest tokenDigest, text string, q *question) {
	ctx, cancel := context.WithTimeout(ctx, introspectionTimeout)
	defer cancel()
	response, claims, err := in.request(ctx, text)
	if err != nil {
		q.answer.refused = introspectionUnavailable
	} else {
		q.answer = in.judge(response, claims)
	}
	in.report(err)
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.current, digest)
	switch {
	case err != nil:
	case q.answer.refused != nil:
		in.refusals.Add(digest, &q.answer)
	default:
		in.answers.Add(digest, &q.answer)
	}
	close(q.done)
}

// report logs why the authorization server does not answer, once until that changes.
func (in *introspector) report(err error) {
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	if in.problem.Set(in.URL, problem) && err != nil {
		in.log.Warn("token not introspected", "error", problem)
	}
}

// request returns the response of the authorization server, as it is written and decoded: a JSON object whose member
// active is true or false. Its error has nothing of the token or of the response.
func (in *introspector) request(ctx context.Context, text string) ([]byte, map[string]any, error) {
	select {
	case in.slots <- struct{}{}:
		defer func() { <-in.slots }()
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("%d requests at once did not end in time", maxIntrospections)
	}
	form := url.Values{"token": {text}, "token_type_hint": {"access_token"}}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	if _, err := in.client.Authenticate(form, header, in.URL); err != nil {
		return nil, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, in.URL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, nil, err
	}
	req.Header = header
	resp, err := in.http.Do(req)
	switch {
	case err != nil:
		return nil, nil, err
	case resp.Status == http.StatusUnauthorized, resp.Status == http.StatusForbidden:
		return nil, nil, fmt.Errorf("the server does not accept the client: it answers with status %d", resp.Status)
	case resp.Status != http.StatusOK:
		return nil, nil, fmt.Errorf("the server answers with status %d", resp.Status)
	case len(resp.Body) > maxIntrospectionBytes:
		return nil, nil, fmt.Errorf("the server answers with more than %d bytes", maxIntrospectionBytes)
	}
	var claims map[string]any
	err = json.Unmarshal(resp.Body, &claims)
	if _, ok := claims["active"].(bool); err != nil || !ok {
		return nil, nil, errors.New("the server does not answer with JSON whose member active is true or false")
	}
	return resp.Body, claims, nil
}

// maxIntrospectionBytes is the size of the largest accepted response, that of the largest token.
const maxIntrospectionBytes = 16 << 10

// judge returns the answer that a response stands for.
func (in *introspector) judge(response []byte, claims map[string]any) answer {
	now := in.now()
	refuse := func(refused *Refusal) answer { return answer{refused: refused, until: now.Add(refusalLife)} }
	if claims["active"] != true {
		return refuse(invalidToken("The token is not known, or is no longer valid"))
	}
	subject, _ := issuer.Claim(claims, in.SubjectClaim).(string)
	seconds, hasExpiry := claims["exp"].(float64)
	expires := time.Unix(int64(seconds), 0)
	begins, hasBegin := claims["nbf"].(float64)
	kind, hasKind := claims["token_type"].(string)
	use, hasUse := claims["token_use"].(string) // of Hydra and Cognito
	switch {
	case !slices.Contains(issuer.Texts(claims["aud"]), in.Audience):
		return refuse(invalidToken("The token is not for this server"))
	case hasKind && !strings.EqualFold(kind, "Bearer"):
		return refuse(invalidToken("The token is not a bearer token"))
	case hasUse && use != "access_token" && use != "access", slices.Contains(otherKinds, claims["typ"]):
		return refuse(invalidToken("The token is not an access token"))
	case !issuer.IsSubject(subject):
		return refuse(invalidToken("The token has no valid subject"))
	case !hasExpiry || seconds > maxUnixSeconds:
		return refuse(invalidToken("The token has no expiration time"))
	case !now.Before(expires):
		return refuse(invalidToken("The token has expired"))
	case hasBegin && float64(now.Unix()) < begins:
		return refuse(invalidToken("The token is not valid yet"))
	}
	compact := new(bytes.Buffer)
	if err := json.Compact(compact, response); err != nil {
		return refuse(unknownCredential)
	}
	i := &mcp.Identity{
		Subject: subject, Key: in.key, Claims: compact.Bytes(), Grant: in.grant, Expires: expires,
		Groups: issuer.Texts(issuer.Claim(claims, in.GroupsClaim)), Scopes: issuer.Scopes(claims),
		BaseScopes: in.RequiredScopes,
	}
	if len(i.MissingScopes(in.RequiredScopes)) > 0 {
		return refuse(missingScope(in.RequiredScopes))
	}
	until := now.Add(answerLife)
	if expires.Before(until) {
		until = expires
	}
	return answer{identity: i, until: until}
}

// otherKinds are the kinds that Keycloak says of tokens that are no access tokens, which servers introspect, too.
var otherKinds = []any{"Refresh", "Offline", "ID"}

// maxUnixSeconds is the latest time that tokens may end at, in the year 9999.
const maxUnixSeconds = 253402300799

// probe asks about a token that the authorization server does not know, and returns why that fails.
func (in *introspector) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, introspectionTimeout)
	defer cancel()
	_, _, err := in.request(ctx, "hatchel-validate")
	return err
}

// issuerOf returns the issuer that a JSON web token names, which is not verified; empty for another text.
func issuerOf(text string) string {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims map[string]any
	if json.Unmarshal(payload, &claims) != nil {
		return ""
	}
	name, _ := claims["iss"].(string)
	return name
}
