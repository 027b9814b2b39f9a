// Package awstest verifies signatures of AWS, and has services of AWS that give credentials, for tests. The verifier is
// written from the specification of Signature Version 4 and shares no code with what signs.
package awstest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Key is what a verifier knows of a credential.
type Key struct{ ID, Secret, Token string }

// Verifier verifies the signatures of requests to one service.
type Verifier struct {
	Service, Region string
	Key             func(id string) (Key, bool)
	Now             func() time.Time // nil is time.Now
}

const maxSkew = 5 * time.Minute

// Verify returns why a request is refused; nil if its signature is right. body is the body as it arrived.
func (v *Verifier) Verify(r *http.Request, body []byte) error {
	s, err := v.parse(r)
	if err != nil {
		return err
	}
	for name, values := range r.Header {
		name = strings.ToLower(name)
		if name == "content-type" || strings.HasPrefix(name, "x-amz-") {
			if !slices.Contains(s.headers, name) {
				return fmt.Errorf("%s (%q) is not signed", name, values)
			}
		}
	}
	sum := sha256.Sum256(body)
	payload := hex.EncodeToString(sum[:])
	if sent := r.Header.Get("X-Amz-Content-Sha256"); sent != "" && sent != "UNSIGNED-PAYLOAD" && sent != payload {
		return fmt.Errorf("the body has the hash %s, and x-amz-content-sha256 is %s", payload, sent)
	} else if sent != "" {
		payload = sent
	} else if strings.HasPrefix(v.Service, "s3") {
		return errors.New("x-amz-content-sha256 is missing")
	}
	return s.compare(r, payload)
}

// signed is what a request says of its signature.
type signed struct {
	key                    Key
	date, scope, signature string // the date of X-Amz-Date
	headers                []string
	service                string
}

func (v *Verifier) parse(r *http.Request) (s signed, err error) {
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	if !ok || len(r.Header["Authorization"]) != 1 {
		return s, fmt.Errorf("the Authorization header has no signature: %q", r.Header["Authorization"])
	}
	fields := map[string]string{}
	for _, field := range strings.Split(text, ", ") {
		name, value, _ := strings.Cut(field, "=")
		fields[name] = value
	}
	s.service = v.Service
	s.headers = strings.Split(fields["SignedHeaders"], ";")
	s.signature = fields["Signature"]
	if !slices.IsSorted(s.headers) || !slices.Contains(s.headers, "host") {
		return s, fmt.Errorf("signed headers %q", s.headers)
	}
	return s, v.accept(&s, fields["Credential"], r.Header.Get("X-Amz-Date"), r.Header.Get("X-Amz-Security-Token"))
}

// accept checks the credential and the time of a signature.
func (v *Verifier) accept(s *signed, credential, date, token string) error {
	id, scope, _ := strings.Cut(credential, "/")
	s.date, s.scope = date, scope
	at, err := time.Parse("20060102T150405Z", date)
	now := time.Now
	if v.Now != nil {
		now = v.Now
	}
	switch {
	case err != nil:
		return fmt.Errorf("X-Amz-Date %q", date)
	case now().Sub(at).Abs() > maxSkew:
		return errors.New("RequestTimeTooSkewed")
	case scope != date[:8]+"/"+v.Region+"/"+v.Service+"/aws4_request":
		return fmt.Errorf("the scope %q is not that of %s in %s", scope, v.Service, v.Region)
	}
	var known bool
	if s.key, known = v.Key(id); !known {
		return fmt.Errorf("InvalidAccessKeyId %q", id)
	}
	if s.key.Token != token {
		return errors.New("InvalidToken")
	}
	return nil
}

// compare computes the signature for all readings of the path that services are known to have, which must be one.
func (s *signed) compare(r *http.Request, payload string) error {
	target, query, _ := strings.Cut(r.RequestURI, "?")
	var lines strings.Builder
	for _, name := range s.headers {
		values := slices.Clone(r.Header[http.CanonicalHeaderKey(name)])
		switch {
		case name == "host":
			values = []string{r.Host}
		case name == "content-length" && values == nil:
			values = []string{fmt.Sprint(r.ContentLength)}
		case values == nil:
			return fmt.Errorf("%s is signed and not sent", name)
		}
		for i, v := range values {
			values[i] = strings.Join(strings.FieldsFunc(v, func(r rune) bool { return r == ' ' }), " ")
		}
		lines.WriteString(name + ":" + strings.Join(values, ",") + "\n")
	}
	key := []byte("AWS4" + s.key.Secret)
	for _, part := range strings.Split(s.scope, "/") {
		key = sum(key, part)
	}
	for _, path := range s.readings(target) {
		canonical := strings.Join([]string{
			r.Method, path, canonicalQuery(query), lines.String(), strings.Join(s.headers, ";"), payload}, "\n")
		hash := sha256.Sum256([]byte(canonical))
		toSign := "AWS4-HMAC-SHA256\n" + s.date + "\n" + s.scope + "\n" + hex.EncodeToString(hash[:])
		if want := hex.EncodeToString(sum(key, toSign)); want != s.signature {
			return fmt.Errorf("SignatureDoesNotMatch for the canonical request\n%s", canonical)
		}
	}
	return nil
}

func sum(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// readings returns the canonical paths that services compute of a path. S3 signs it as it was sent, or decodes and
// escapes it. Others normalize it or not, and escape what was sent, or decode it and escape it twice.
func (s *signed) readings(path string) []string {
	decoded, err := url.PathUnescape(path)
	if err != nil {
		return []string{"not a path"}
	}
	if strings.HasPrefix(s.service, "s3") {
		return []string{path, encode(decoded, true)}
	}
	twice := strings.Split(path, "/")
	for i, segment := range twice {
		plain, _ := url.PathUnescape(segment)
		twice[i] = encode(encode(plain, false), false)
	}
	all := []string{encode(path, true), strings.Join(twice, "/")}
	for _, p := range slices.Clone(all) {
		all = append(all, normalize(p))
	}
	return all
}

// normalize removes redundant slashes and dot segments (RFC 3986, section 5.2.4).
func normalize(path string) string {
	var out []string
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, s := range segments {
		last := i == len(segments)-1
		switch {
		case s == "..":
			out = out[:max(len(out)-1, 0)]
		case s != "." && s != "":
			out = append(out, s)
		}
		if last && (s == "" || s == "." || s == "..") && len(out) > 0 {
			out = append(out, "")
		}
	}
	return "/" + strings.Join(out, "/")
}

func canonicalQuery(raw string) string {
	var pairs [][2]string
	for _, part := range strings.Split(raw, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		n, errName := url.QueryUnescape(name)
		v, errValue := url.QueryUnescape(value)
		if errName != nil || errValue != nil || strings.Contains(part, ";") {
			return "not a query"
		}
		pairs = append(pairs, [2]string{encode(n, false), encode(v, false)})
	}
	slices.SortFunc(pairs, func(a, b [2]string) int {
		return strings.Compare(a[0]+"\x00"+a[1], b[0]+"\x00"+b[1])
	})
	texts := make([]string, len(pairs))
	for i, p := range pairs {
		texts[i] = p[0] + "=" + p[1]
	}
	return strings.Join(texts, "&")
}

// encode escapes a text as the specification says.
func encode(s string, keepSlash bool) string {
	const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	var out strings.Builder
	for i := range len(s) {
		if c := s[i]; strings.IndexByte(unreserved, c) >= 0 || c == '/' && keepSlash {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}

// VerifyPassword verifies a password of RDS for a user at an endpoint.
func (v *Verifier) VerifyPassword(password, endpoint, user string) error {
	u, err := url.Parse("https://" + password)
	if err != nil || u.Host != endpoint || strings.Trim(u.Path, "/") != "" {
		return fmt.Errorf("the password is not for %s", endpoint)
	}
	q := u.Query()
	if q.Get("Action") != "connect" || q.Get("DBUser") != user || q.Get("X-Amz-SignedHeaders") != "host" ||
		q.Get("X-Amz-Algorithm") != "AWS4-HMAC-SHA256" || q.Get("X-Amz-Expires") != "900" {
		return errors.New("the password is not that of rds-db:connect for 15 minutes")
	}
	s := signed{headers: []string{"host"}, signature: q.Get("X-Amz-Signature"), service: v.Service}
	if err := v.accept(&s, q.Get("X-Amz-Credential"), q.Get("X-Amz-Date"), q.Get("X-Amz-Security-Token")); err != nil {
		return err
	}
	parts := slices.DeleteFunc(strings.Split(u.RawQuery, "&"), func(part string) bool {
		return strings.HasPrefix(part, "X-Amz-Signature=")
	})
	r := &http.Request{Method: http.MethodGet, Host: endpoint, RequestURI: "/?" + strings.Join(parts, "&"),
		Header: http.Header{}}
	empty := sha256.Sum256(nil)
	return s.compare(r, hex.EncodeToString(empty[:]))
}
