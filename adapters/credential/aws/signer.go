package aws

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// request is a request that is signed. Signing changes its URL and its Header to what must be sent.
type request struct {
	Method string
	URL    *url.URL
	Header http.Header
	Hash   string // of the body, of hashBody
}

// hashBody returns the hash of a body.
func hashBody(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// hashReader reads a body to its end and returns its hash.
func hashReader(body io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, body); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// signer signs requests to one service in one region. The key of a day is derived once.
type signer struct {
	service, region string
	rules           pathRules
	v4              *v4.Signer
}

// s3Services are the services whose paths are the keys of objects.
var s3Services = map[string]bool{"s3": true, "s3express": true, "s3-outposts": true, "s3-object-lambda": true}

func newSigner(service, region string) *signer {
	s := &signer{service: service, region: region, rules: pathRules{normalized: true}}
	if s3Services[service] {
		s.rules = pathRules{signedAsSent: true}
	}
	single := s.rules.signedAsSent
	s.v4 = v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = single })
	return s
}

// The headers of a signature.
const (
	headerDate          = "X-Amz-Date"
	headerToken         = "X-Amz-Security-Token"
	headerHash          = "X-Amz-Content-Sha256"
	headerAuthorization = "Authorization"
)

// Headers are the names of the headers that signing sets.
var Headers = []string{headerAuthorization, headerDate, headerToken, headerHash}

// Replaces reports whether signing replaces a header. An author may set X-Amz-Content-Sha256, which may say that the
// body is not signed.
func Replaces(name string) bool {
	name = http.CanonicalHeaderKey(name)
	return name != headerHash && slices.Contains(Headers, name)
}

// sign signs a request at a time.
func (s *signer) sign(ctx context.Context, c Credentials, r request, at time.Time) error {
	if err := canonicalizeURL(r.URL, s.rules); err != nil {
		return err
	}
	if r.Header[headerHash] == nil {
		r.Header[headerHash] = []string{r.Hash}
	}
	delete(r.Header, headerToken)
	signed := http.Header{}
	for name, values := range r.Header {
		if isSigned(name) {
			r.Header[name] = trimValues(values)
			signed[name] = r.Header[name]
		}
	}
	u := *r.URL // its query is sorted in the signature, and is not where it is sent
	req := &http.Request{Method: r.Method, URL: &u, Header: signed}
	hash := r.Header.Get(headerHash)
	if err := s.v4.SignHTTP(ctx, c.sdk(), req, hash, s.service, s.region, at); err != nil {
		return err
	}
	for _, name := range []string{headerAuthorization, headerDate, headerToken} {
		if values := signed[name]; values != nil {
			r.Header[name] = values
		}
	}
	return nil
}

func (c Credentials) sdk() sdk.Credentials {
	return sdk.Credentials{AccessKeyID: c.KeyID, SecretAccessKey: c.Secret, SessionToken: c.Token}
}

// isSigned reports whether a header is part of the signature. Others may be changed on the way to the service.
func isSigned(name string) bool { return name == "Content-Type" || strings.HasPrefix(name, "X-Amz-") }

// trimValues returns the values of a header without the spaces around them, which HTTP/1.1 does not send.
func trimValues(values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = textproto.TrimString(v)
	}
	return out
}
