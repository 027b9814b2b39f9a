package aws

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/credential"
)

// Transport signs each request that it sends, in place of the Authorization header that the request has. It may be
// used concurrently.
type Transport struct {
	*Provider
	signer *signer
	next   http.RoundTripper
}

// NewTransport returns the transport of a block.
func NewTransport(block *SigV4, p *Provider, next http.RoundTripper) *Transport {
	return &Transport{p, newSigner(block.Service, block.Region), next}
}

// CloseIdleConnections closes those of the next transport.
func (t *Transport) CloseIdleConnections() {
	if next, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper. A request that is refused because its credential has ended was not carried
// out: it is sent again, once, with another credential. An error that is a *adapters.Fault says that nothing was sent.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	hash, err := hashOf(r)
	if err != nil {
		closeBody(r)
		return nil, unreadable(err)
	}
	c, err := t.Provider.Get(r.Context())
	if err != nil {
		closeBody(r)
		return nil, err
	}
	resp, err := t.send(r, c, hash)
	if err != nil || c.Token == "" || !isRefusal(resp.StatusCode) {
		return resp, err
	}
	if !hasCode(peek(resp), expiredCodes) {
		return resp, nil
	}
	t.Provider.Refuse(c)
	other, err := t.Provider.Get(r.Context())
	if err != nil || other.KeyID == c.KeyID {
		return resp, nil
	}
	again, err := withBody(r)
	if err != nil {
		return resp, nil
	}
	resp.Body.Close()
	return t.send(again, other, hash)
}

func (t *Transport) send(r *http.Request, c Credentials, hash string) (*http.Response, error) {
	out := r.Clone(r.Context())
	if err := t.signer.sign(r.Context(), c, request{out.Method, out.URL, out.Header, hash}, time.Now()); err != nil {
		closeBody(r)
		return nil, err
	}
	out.Host = out.URL.Host
	return t.next.RoundTrip(out)
}

// TokenOf returns the token of the credential that a request was signed with; empty if it has none. The request of a
// response is the one that was signed.
func TokenOf(signed *http.Request) string { return signed.Header.Get(headerToken) }

func closeBody(r *http.Request) {
	if r.Body != nil {
		r.Body.Close()
	}
}

// hashOf returns the hash of the body of a request. A body that can be opened again is read twice, so that an uploaded
// file is not held in memory.
func hashOf(r *http.Request) (string, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return hashBody(nil), nil
	}
	body, err := r.GetBody()
	if err != nil {
		return "", err
	}
	defer body.Close()
	return hashReader(body)
}

// unreadable returns the fault of a call whose body cannot be read, such as an uploaded file that is gone.
func unreadable(err error) error {
	out := adapters.Fault{Message: "the body of the request cannot be read", Cause: err}
	if fault, ok := errors.AsType[*adapters.Fault](err); ok {
		out = *fault
	}
	out.NotSent = true
	return &out
}

// withBody returns a request that can be sent once more.
func withBody(r *http.Request) (*http.Request, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, nil
	}
	body, err := r.GetBody()
	out := *r
	out.Body = body
	return &out, err
}

const maxHead = 8 << 10 // bytes of a response in which a code is looked for

// peek reads the beginning of the body of a response, which can be read again. What cannot be read has no code.
func peek(resp *http.Response) []byte {
	head, _ := io.ReadAll(io.LimitReader(resp.Body, maxHead))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), resp.Body), resp.Body}
	return head
}

// isRefusal reports whether a service may answer a status to a request that it does not accept from this credential.
func isRefusal(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnauthorized || status == http.StatusForbidden
}

// expiredCodes are the codes of services for a credential that has ended, and skewCodes for a time of a signature that
// is not theirs.
var (
	expiredCodes = []string{"ExpiredToken", "The security token included in the request is expired"}
	skewCodes    = []string{"RequestTimeTooSkewed", "Signature expired", "Signature not yet current", "RequestExpired"}
)

func hasCode(head []byte, codes []string) bool {
	for _, code := range codes {
		if bytes.Contains(head, []byte(code)) {
			return true
		}
	}
	return false
}

// ExplainRefusal returns what a message says of a refused request after its status, such as that the clock is wrong;
// empty if there is nothing to say. head is the beginning of the body.
func ExplainRefusal(resp *http.Response, head []byte) string {
	if !isRefusal(resp.StatusCode) || !hasCode(head, skewCodes) {
		return ""
	}
	text := "the clock of this machine may be wrong"
	if served, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		text = cmp.Or(credential.DescribeSkew(time.Now(), served), text)
	}
	return ", which refuses the time of the signature: " + text
}
