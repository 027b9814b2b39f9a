package aws

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"golang.org/x/tools/txtar"

	"hatchel/adapters/credential/aws/awstest"
	"hatchel/internal/benchtest"
)

var testKey = awstest.Key{ID: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}

func verifier(service string, now time.Time, keys ...awstest.Key) *awstest.Verifier {
	return &awstest.Verifier{Service: service, Region: "us-east-1", Now: func() time.Time { return now },
		Key: func(id string) (awstest.Key, bool) {
			for _, k := range keys {
				if k.ID == id {
					return k, true
				}
			}
			return awstest.Key{}, false
		}}
}

// vector is one of the published test suite.
type vector struct {
	Normalize bool
	SignBody  bool `json:"sign_body"`
	Token     string
	OmitToken bool `json:"omit_token"`
	Signature string

	method, target, body string
	header               http.Header
}

func parseVector(t *testing.T, data string) (v vector) {
	t.Helper()
	first, request, _ := strings.Cut(data, "\n")
	if err := json.Unmarshal([]byte(first), &v); err != nil {
		t.Fatal(err)
	}
	head, body, _ := strings.Cut(request, "\n\n")
	lines := strings.Split(strings.TrimRight(head, "\n"), "\n")
	v.method, v.target, _ = strings.Cut(strings.TrimSuffix(lines[0], " HTTP/1.1"), " ")
	v.body, v.header = strings.TrimSuffix(body, "\n"), http.Header{}
	name := ""
	for _, line := range lines[1:] {
		if line[0] == ' ' { // the rest of the value before
			values := v.header[name]
			values[len(values)-1] += " " + strings.TrimSpace(line)
			continue
		}
		key, value, _ := strings.Cut(line, ":")
		name = http.CanonicalHeaderKey(key)
		v.header[name] = append(v.header[name], strings.TrimSpace(value))
	}
	return v
}

// TestThePublishedVectorsHaveTheSignaturesThatAWSPublishes signs them with our canonical URL.
func TestThePublishedVectorsHaveTheSignaturesThatAWSPublishes(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/sigv4.txtar")
	if err != nil || len(archive.Files) < 38 {
		t.Fatal(err, len(archive.Files))
	}
	at := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	for _, f := range archive.Files {
		t.Run(f.Name, func(t *testing.T) {
			v := parseVector(t, string(f.Data))
			u, err := url.Parse("https://" + v.header.Get("Host"))
			if err != nil {
				t.Fatal(err)
			}
			path, query, _ := strings.Cut(v.target, "?")
			u.Path, u.RawQuery = path, query
			u.Path = canonicalPath(u.EscapedPath(), pathRules{signedAsSent: true, normalized: v.Normalize})
			u.RawPath, u.RawQuery = u.Path, canonicalQuery(query)
			u.Path, _ = url.PathUnescape(u.RawPath)
			s := newSigner("s3", "us-east-1") // its paths are signed as they are sent
			header := v.header.Clone()
			header.Del("Host")
			hash := hashBody([]byte(v.body))
			if v.SignBody {
				header.Set(headerHash, hash)
			}
			req := &http.Request{Method: v.method, URL: u, Header: header}
			if text := header.Get("Content-Length"); text != "" {
				req.ContentLength, _ = strconv.ParseInt(text, 10, 64)
			}
			with := sdk.Credentials{AccessKeyID: testKey.ID, SecretAccessKey: testKey.Secret}
			if !v.OmitToken {
				with.SessionToken = v.Token
			}
			if err := s.v4.SignHTTP(t.Context(), with, req, hash, "service", s.region, at); err != nil {
				t.Fatal(err)
			}
			if _, got, _ := strings.Cut(header.Get("Authorization"), "Signature="); got != v.Signature {
				t.Errorf("the signature is %s, and the published one is %s", got, v.Signature)
			}
		})
	}
}

// sent is a request as it arrived.
type sent struct {
	request *http.Request
	body    []byte
}

// send signs a request and sends it with net/http, as the adapter does.
func send(t testing.TB, s *signer, c Credentials, method, address string, header http.Header, body string) (got sent) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		got = sent{r, raw}
	}))
	defer server.Close()
	u, err := url.Parse(server.URL + address)
	if err != nil {
		t.Fatal(err)
	}
	r := request{Method: method, URL: u, Header: header, Hash: hashBody([]byte(body))}
	if err := s.sign(t.Context(), c, r, time.Now()); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, u.String(), bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return got
}

// hostilePieces are what addresses and headers are made of.
var hostilePieces = []string{"a", "B9", "-._~", "%2F", "%2f", "%20", "+", "%2B", "é", "%c3%a9", "ሴ", "*", ":", "=", "@", "$",
	",", ";", "!", "'", "(", ")", "%25", "%3F", "%26", "%00", "%23", "&"}

func randomText(r *rand.Rand, pieces []string, most int) string {
	var out strings.Builder
	for range r.IntN(most + 1) {
		out.WriteString(pieces[r.IntN(len(pieces))])
	}
	return out.String()
}

func TestASignatureIsRightForEachReadingOfWhatIsSent(t *testing.T) {
	key := awstest.Key{ID: "ASIA1", Secret: "s/e+c", Token: "t/o+k=="}
	c := Credentials{KeyID: key.ID, Secret: key.Secret, Token: key.Token}
	r := rand.New(rand.NewPCG(1, 26))
	segments := append([]string{"/", "/", "//", "/x"}, hostilePieces...)
	for _, service := range []string{"s3", "s3express", "execute-api", "dynamodb"} {
		s := newSigner(service, "us-east-1")
		for range 150 {
			address := "/" + randomText(r, segments, 8)
			if r.IntN(2) == 0 {
				address += "?" + randomText(r, append([]string{"&", "=", "?", "/", "a=1", "a=2", "a="}, hostilePieces...), 8)
			}
			header := http.Header{"Content-Type": {"text/plain;  charset=utf-8"}, "X-Other": {"1"}, "Traceparent": {"00"},
				"X-Amz-Meta-A": {" two  spaces\t", "second"}, "X-Amz-Meta-Empty": {""}}
			got := send(t, s, c, "POST", address, header, randomText(r, hostilePieces, 30))
			if err := verifier(service, time.Now(), key).Verify(got.request, got.body); err != nil {
				t.Fatalf("%s %s, sent as %s: %v", service, address, got.request.RequestURI, err)
			}
			if signed := got.request.Header.Get("Authorization"); strings.Contains(signed, "traceparent") ||
				strings.Contains(signed, "x-other") {
				t.Fatalf("a header is signed that may change on the way: %s", signed)
			}
			want, err := url.Parse("http://h.example" + address)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(service, "s3") && got.request.URL.Path != want.Path {
				t.Fatalf("the key %q is sent as %q", want.Path, got.request.URL.Path)
			}
			values, err := url.ParseQuery(want.RawQuery)
			if err == nil && values.Encode() != got.request.URL.Query().Encode() {
				t.Fatalf("the query %q is sent as %q", want.RawQuery, got.request.URL.RawQuery)
			}
		}
	}
}

// TestAnyChangeOfASignedRequestIsRefused changes what was sent, and so tests the verifier of the other tests.
func TestAnyChangeOfASignedRequestIsRefused(t *testing.T) {
	key := awstest.Key{ID: "ASIA1", Secret: "s/e+c", Token: "t/o+k=="}
	c := Credentials{KeyID: key.ID, Secret: key.Secret, Token: key.Token}
	for _, service := range []string{"s3", "execute-api"} {
		for name, change := range map[string]func(*sent){
			"method":       func(s *sent) { s.request.Method = "PUT" },
			"path":         func(s *sent) { s.request.RequestURI = strings.Replace(s.request.RequestURI, "/a", "/b", 1) },
			"query":        func(s *sent) { s.request.RequestURI += "&y=1" },
			"host":         func(s *sent) { s.request.Host = "other.example" },
			"content type": func(s *sent) { s.request.Header.Set("Content-Type", "text/html") },
			"a header":     func(s *sent) { s.request.Header.Set("X-Amz-Meta-A", "2") },
			"one header":   func(s *sent) { s.request.Header.Set("X-Amz-Acl", "public-read") },
			"without":      func(s *sent) { s.request.Header.Del("X-Amz-Meta-A") },
			"body":         func(s *sent) { s.body = append(s.body, '!') },
			"hash":         func(s *sent) { s.request.Header.Set(headerHash, "UNSIGNED-PAYLOAD") },
			"token":        func(s *sent) { s.request.Header.Set(headerToken, "other") },
			"time": func(s *sent) {
				s.request.Header.Set(headerDate, time.Now().UTC().Add(time.Minute).Format("20060102T150405Z"))
			},
			"authorization": func(s *sent) { s.request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=ASIA1") },
		} {
			header := http.Header{"Content-Type": {"text/plain"}, "X-Amz-Meta-A": {"1"}}
			got := send(t, newSigner(service, "us-east-1"), c, "POST", "/a/b?x=1", header, "body")
			v := verifier(service, time.Now(), key)
			if err := v.Verify(got.request, got.body); err != nil {
				t.Fatal(err)
			}
			if change(&got); v.Verify(got.request, got.body) == nil {
				t.Errorf("%s: a changed %s is accepted", service, name)
			}
		}
	}
}

func TestTheOrderOfRepeatedParametersStays(t *testing.T) {
	got := send(t, newSigner("es", "us-east-1"), Credentials{KeyID: testKey.ID, Secret: testKey.Secret},
		"GET", "/a?id=3&id=1&empty&b=&id=2", http.Header{}, "")
	if err := verifier("es", time.Now(), testKey).Verify(got.request, nil); err != nil {
		t.Fatal(err)
	}
	if got.request.URL.RawQuery != "id=3&id=1&empty=&b=&id=2" {
		t.Error(got.request.URL.RawQuery)
	}
}

func TestDotSegmentsAreResolvedOrRefused(t *testing.T) {
	for address, want := range map[string]string{
		"/a/%2e%2e/b": "/b", "/a/./b/": "/a/b/", "/../x": "/x", "//a///b//": "/a/b/", "/a/..": "/", "/%2e": "/",
		"/a/b/..": "/a/", "/a%2F..%2Fb": "/a%2F..%2Fb", "": "", "/": "/",
	} {
		u, _ := url.Parse("https://x.example" + address)
		if err := canonicalizeURL(u, pathRules{normalized: true}); err != nil || u.EscapedPath() != want {
			t.Errorf("%s is sent as %s, %v; wanted %s", address, u.EscapedPath(), err, want)
		}
		u, _ = url.Parse("https://x.example" + address)
		err := canonicalizeURL(u, pathRules{signedAsSent: true})
		if dots := strings.Contains(strings.ReplaceAll(address, "%2e", "."), "."); (err != nil) != dots {
			t.Errorf("S3 %s: %v", address, err)
		}
	}
}

func TestTheHostIsSignedAsItIsSent(t *testing.T) {
	for host, want := range map[string]string{
		"https://a.example:443": "a.example", "http://a.example:80": "a.example", "https://a.example:80": "a.example:80",
		"https://[::1]:443": "[::1]", "https://[::1]:8443": "[::1]:8443", "https://a.example:": "a.example",
	} {
		u, _ := url.Parse(host + "/x")
		if err := canonicalizeURL(u, pathRules{}); err != nil || u.Host != want {
			t.Errorf("%s: %s %v", host, u.Host, err)
		}
	}
	u := &url.URL{Scheme: "https", Host: "é.example"}
	if err := canonicalizeURL(u, pathRules{}); err == nil {
		t.Error("a host that is sent in another form is signed")
	}
}

func TestAnAuthorMayLeaveTheBodyUnsigned(t *testing.T) { // VPC Lattice accepts nothing else
	header := http.Header{headerHash: {"UNSIGNED-PAYLOAD"}}
	got := send(t, newSigner("vpc-lattice-svcs", "us-east-1"), Credentials{KeyID: testKey.ID, Secret: testKey.Secret},
		"POST", "/", header, "body")
	if err := verifier("vpc-lattice-svcs", time.Now(), testKey).Verify(got.request, got.body); err != nil {
		t.Error(err)
	}
	if got.request.Header.Get(headerHash) != "UNSIGNED-PAYLOAD" {
		t.Error(got.request.Header)
	}
}

func TestASecondAttemptHasAnotherSignature(t *testing.T) {
	s, u := newSigner("s3", "us-east-1"), &url.URL{Scheme: "https", Host: "b.example", Path: "/k"}
	header := http.Header{}
	old := awstest.Key{ID: "ASIA1", Secret: "1", Token: "t"}
	r := request{Method: "GET", URL: u, Header: header, Hash: hashBody(nil)}
	if err := s.sign(t.Context(), Credentials{KeyID: old.ID, Secret: old.Secret, Token: old.Token}, r, time.Now()); err != nil {
		t.Fatal(err)
	}
	first := header.Get("Authorization")
	later := time.Now().Add(20 * time.Minute) // also after the credential was replaced by one without a token
	if err := s.sign(t.Context(), Credentials{KeyID: testKey.ID, Secret: testKey.Secret}, r, later); err != nil {
		t.Fatal(err)
	}
	req := &http.Request{Method: "GET", Host: u.Host, RequestURI: "/k", Header: header}
	if err := verifier("s3", later, testKey).Verify(req, nil); err != nil || header.Get("Authorization") == first {
		t.Error(err)
	}
	if err := verifier("s3", time.Now(), testKey).Verify(req, nil); err == nil {
		t.Error("the verifier accepts the time of another attempt")
	}
}

func TestAPasswordOfRDSIsAPresignedRequest(t *testing.T) {
	s, now := newSigner("rds-db", "us-east-1"), time.Now()
	for _, token := range []string{"", "to+ken/=="} {
		key := awstest.Key{ID: "ASIA1", Secret: "s", Token: token}
		c := Credentials{KeyID: key.ID, Secret: key.Secret, Token: token}
		for _, user := range []string{"hatchel", "a b+c&d/é", "IAM@x"} {
			const endpoint = "db.x.us-east-1.rds.amazonaws.com:5432"
			got, err := s.presign(t.Context(), c, endpoint, user, now)
			if err == nil {
				err = verifier("rds-db", now, key).VerifyPassword(got, endpoint, user)
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", user, err, got)
			}
		}
	}
}

func BenchmarkSign(b *testing.B) {
	s := newSigner("execute-api", "eu-central-1")
	body := bytes.Repeat([]byte("x"), 4<<10)
	c := Credentials{KeyID: "ASIA1", Secret: "s", Token: strings.Repeat("t", 800)}
	now := time.Now()
	b.ReportAllocs()
	report := benchtest.ReportCPU(b)
	for b.Loop() {
		u, _ := url.Parse("https://x.execute-api.eu-central-1.amazonaws.com/prod/orders/a%20b?id=3&id=1")
		header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
		if err := s.sign(b.Context(), c, request{"POST", u, header, hashBody(body)}, now); err != nil {
			b.Fatal(err)
		}
	}
	report()
}
