package http_test

import (
	"encoding/xml"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/adapters/credential/aws/awstest"
)

// awsService is a service of AWS that refuses requests whose signatures are wrong, and an agent on this machine that
// gives credentials for it.
type awsService struct {
	*recorder
	awstest.Issuer
	service string
}

func serveAWS(t testing.TB, service string, h nethttp.HandlerFunc) *awsService {
	t.Helper()
	s := &awsService{service: service}
	agent := httptest.NewServer(s.Container("/credentials", "agent-token"))
	t.Cleanup(agent.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "")
	t.Setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "")
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", agent.URL+"/credentials")
	t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "agent-token")
	v := &awstest.Verifier{Service: service, Region: "eu-central-1", Key: s.Key}
	s.recorder = serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if err := v.Verify(r, body); err != nil {
			t.Errorf("%s %s: %v", r.Method, r.RequestURI, err)
			w.WriteHeader(nethttp.StatusForbidden)
			return
		}
		h(w, r)
	})
	return s
}

func (s *awsService) source(more, inputs, block string) adaptertest.Source {
	auth := fmt.Sprintf("  auth {\n    aws_sigv4 {\n      service = %q\n      region = \"eu-central-1\"\n    }\n  }\n%s", s.service, more)
	return source(s.URL, auth, inputs, block)
}

// TestEachRequestIsSigned has requests of all forms, to services with both kinds of paths.
func TestEachRequestIsSigned(t *testing.T) {
	for _, service := range []string{"s3", "execute-api", "dynamodb"} {
		s := serveAWS(t, service, respond(`{"items": [], "next": null}`))
		for name, block := range map[string]string{
			"nothing":   `    get = "/"`,
			"path":      `    get = "/b%C3%BCcher/a%20b/${segment(input.v)}/a%2Fb+c*:d=@$,;!'()"`,
			"query":     `    get = "/x?b=&a&c=1+2&a=0&d=%2f/?"` + "\n" + `    query = { q = input.v, list = ["b", "a", ""], none = null }`,
			"commas":    `    get = "/x"` + "\n" + `    query = { q = ["a,b", input.v] }` + "\n" + `    separators = { q = "," }`,
			"json":      `    post = "/x"` + "\n" + `    json = { v = input.v }` + "\n" + `    headers = { X-Amz-Target = "DynamoDB_20120810.GetItem", Content-Type = "application/x-amz-json-1.0" }`,
			"form":      `    post = "/x"` + "\n" + `    form = { v = [input.v, "b"] }`,
			"multipart": `    post = "/x"` + "\n" + `    multipart = { v = input.v, raw = base64bytes("/wA=") }`,
			"body":      `    put = "/x"` + "\n" + `    body = "${input.v}\n"` + "\n" + `    headers = { X-Amz-Meta-Name = "  a  b\t", Content-Type = "text/plain;  charset=utf-8", Range = "bytes=0-1" }`,
			"get body":  `    get = "/x"` + "\n" + `    json = { v = input.v }`,
			"delete":    `    delete = "/x/${segment(input.v)}"`,
			"head":      `    head = "/x"`,
			"empty":     `    post = "/x"` + "\n" + `    body = ""`,
		} {
			src := s.source("", `  input "v" { type = string }`, block)
			b := adaptertest.Bind(t, src)
			for _, v := range []string{"plain", "a/b+c d&e=f?ü%25#~", "100%"} {
				if _, err := b.Do(t.Context(), fmt.Sprintf(`{"v": %q}`, v)); err != nil {
					t.Errorf("%s, %s, %s: %v", service, name, v, err)
				}
			}
		}
		if s.Asked() < 1 || s.count() != 36 {
			t.Errorf("%d fetches for %d requests", s.Asked(), s.count())
		}
	}
}

func TestObjectsOfS3AreReadAndWritten(t *testing.T) {
	backend := s3mem.New()
	if err := backend.CreateBucket("reports"); err != nil {
		t.Fatal(err)
	}
	s := serveAWS(t, "s3", gofakes3.New(backend).Server().ServeHTTP)
	const inputs = `  input "key" { type = string }`
	write := adaptertest.Bind(t, s.source("", inputs, `    put  = "/reports/${path(input.key)}"`+"\n"+`    body = "content of ${input.key}"`+"\n"+`    as   = "text"`))
	read := adaptertest.Bind(t, s.source("", inputs, `    get = "/reports/${path(input.key)}"`+"\n"+`    as  = "text"`))
	list := adaptertest.Bind(t, s.source("", "", `    get   = "/reports"`+"\n"+`    query = { list-type = 2, prefix = "a/", delimiter = "" }`+"\n"+`    as    = "text"`))
	for _, key := range []string{"a/b.txt", "a/with space+plus.txt", "a/ü/€.txt", "a/100%25.txt", "a/x=y&z,(1)'!*~.txt"} {
		arguments := fmt.Sprintf(`{"key": %q}`, key)
		if _, err := write.Do(t.Context(), arguments); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		out, err := read.Do(t.Context(), arguments)
		if err != nil || out["body"] != "content of "+key {
			t.Errorf("%s: %v %v", key, out["body"], err)
		}
		if object, err := backend.GetObject("reports", key, nil); err != nil {
			t.Errorf("%s was written under another key: %v", key, err)
		} else {
			object.Contents.Close()
		}
	}
	out, err := list.Do(t.Context(), `{}`)
	var listed struct{ Contents []struct{ Key string } }
	if err != nil || xml.Unmarshal([]byte(out["body"].(string)), &listed) != nil || len(listed.Contents) != 5 {
		t.Errorf("%v %v", out, err)
	}
}

func TestEachPageAndEachAttemptIsSigned(t *testing.T) {
	var requests atomic.Int32
	s := serveAWS(t, "execute-api", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		switch n := requests.Add(1); n {
		case 1:
			w.WriteHeader(nethttp.StatusServiceUnavailable)
		case 2:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"items": [1], "next": "/orders?page=2&q=a+b;c"}`)
		default:
			respond(`{"items": [2]}`)(w, r)
		}
	})
	b := adaptertest.Bind(t, s.source("  retry {\n    backoff = \"1ms\"\n  }", "", `    get = "/orders"
    paginate {
      items = "output.body.items"
      next  = "output.body.next"
    }`))
	if _, err := b.Do(t.Context(), `{}`); err != nil {
		t.Fatal(err)
	}
	if s.count() != 3 || s.Asked() != 1 {
		t.Errorf("%d requests, %d fetches", s.count(), s.Asked())
	}
}

func TestACredentialThatEndsDuringACallIsReplaced(t *testing.T) {
	var expired atomic.Bool
	s := serveAWS(t, "dynamodb", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if expired.CompareAndSwap(false, true) {
			w.WriteHeader(nethttp.StatusBadRequest)
			fmt.Fprint(w, `{"__type":"com.amazon.coral.service#ExpiredTokenException","message":"The security token included in the request is expired"}`)
			return
		}
		respond(`{"ok": true}`)(w, r)
	})
	b := adaptertest.Bind(t, s.source("", "", `    post = "/"`+"\n"+`    json = { a = 1 }`))
	if _, err := b.Do(t.Context(), `{}`); err != nil || s.count() != 2 || s.Asked() != 2 || s.seen[1].body != `{"a":1}` {
		t.Errorf("%v, %d requests, %d fetches", err, s.count(), s.Asked())
	}
}

// TestTheTokenOfEachAttemptIsHidden has a service that refuses one credential as ended, and then repeats the token of the
// next one, as S3 does in its errors.
func TestTheTokenOfEachAttemptIsHidden(t *testing.T) {
	for _, status := range []int{nethttp.StatusOK, nethttp.StatusForbidden} {
		var expired atomic.Bool
		s := serveAWS(t, "s3", func(w nethttp.ResponseWriter, r *nethttp.Request) {
			if expired.CompareAndSwap(false, true) {
				w.WriteHeader(nethttp.StatusBadRequest)
				fmt.Fprint(w, `<Error><Code>ExpiredToken</Code></Error>`)
				return
			}
			w.WriteHeader(status)
			fmt.Fprintf(w, "x-amz-security-token:%s, what was signed", r.Header.Get("X-Amz-Security-Token"))
		})
		b := adaptertest.Bind(t, s.source("", "", `    get = "/x"`+"\n"+`    as  = "text"`))
		out, err := b.Do(t.Context(), `{}`)
		text := fmt.Sprint(out, err)
		if s.count() != 2 || !strings.Contains(text, "what was signed") || strings.Contains(text, "to+ken") {
			t.Errorf("%d after %d requests: %s", status, s.count(), text)
		}
	}
}

func TestManyCallsAtTheStartShareOneFetch(t *testing.T) {
	s := serveAWS(t, "execute-api", respond(`{}`))
	b := adaptertest.Bind(t, s.source("", "", `    get = "/x"`))
	var calls sync.WaitGroup
	for range 100 {
		calls.Go(func() {
			if _, err := b.Do(t.Context(), `{}`); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	s.Fail(nethttp.StatusServiceUnavailable, "") // the credential is valid for an hour
	if _, err := b.Do(t.Context(), `{}`); err != nil || s.Asked() != 1 || s.count() != 101 {
		t.Errorf("%v, %d fetches for %d requests", err, s.Asked(), s.count())
	}
}

func TestACredentialThatStaysTheSameIsNotSentAgain(t *testing.T) {
	s := serveAWS(t, "dynamodb", func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.WriteHeader(nethttp.StatusBadRequest)
		fmt.Fprint(w, `{"message":"ExpiredToken of the application"}`)
	})
	t.Setenv("AWS_ACCESS_KEY_ID", "ASIAENV")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "env-secret")
	t.Setenv("AWS_SESSION_TOKEN", "env-token")
	s.Add(awstest.Key{ID: "ASIAENV", Secret: "env-secret", Token: "env-token"})
	b := adaptertest.Bind(t, s.source("", "", `    post = "/"`+"\n"+`    json = { a = 1 }`))
	_, err := b.Do(t.Context(), `{}`)
	wantPart(t, wantFault(t, err).Message, "400 Bad Request: {\"message\":\"ExpiredToken of the application\"}")
	if s.count() != 1 {
		t.Errorf("%d requests", s.count())
	}
}

func TestAWrongClockIsNamed(t *testing.T) {
	for date, want := range map[string]string{
		"": "may be wrong", time.Now().Add(-20 * time.Minute).UTC().Format(nethttp.TimeFormat): "is 20m0s ahead of that of the service",
	} {
		s := serveAWS(t, "s3", func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			if date != "" {
				w.Header().Set("Date", date)
			}
			w.WriteHeader(nethttp.StatusForbidden)
			fmt.Fprint(w, `<Error><Code>RequestTimeTooSkewed</Code></Error>`)
		})
		_, err := adaptertest.Bind(t, s.source("", "", `    get = "/x"`)).Do(t.Context(), `{}`)
		wantPart(t, wantFault(t, err).Message, "the service returned 403 Forbidden, which refuses the time of the signature: the clock of this machine "+want)
	}
}

func TestARedirectOfASignedRequestIsNotFollowed(t *testing.T) {
	s := serveAWS(t, "s3", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		nethttp.Redirect(w, r, "/elsewhere", nethttp.StatusTemporaryRedirect)
	})
	_, err := adaptertest.Bind(t, s.source("", "", `    get = "/x"`)).Do(t.Context(), `{}`)
	wantPart(t, wantFault(t, err).Message, "a redirect to /elsewhere that is not followed: no redirect is followed")
	if s.count() != 1 {
		t.Errorf("%d requests", s.count())
	}
}

func TestATokenThatAServiceRepeatsIsHidden(t *testing.T) {
	s := serveAWS(t, "execute-api", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path == "/no" {
			w.WriteHeader(nethttp.StatusForbidden)
		}
		fmt.Fprintf(w, "I was sent %s", r.Header.Get("X-Amz-Security-Token"))
	})
	out, err := adaptertest.Bind(t, s.source("", "", `    get = "/x"`+"\n"+`    as = "text"`)).Do(t.Context(), `{}`)
	if err != nil || out["body"] != "I was sent (secret)" {
		t.Error(out, err)
	}
	_, err = adaptertest.Bind(t, s.source("", "", `    get = "/no"`)).Do(t.Context(), `{}`)
	if m := wantFault(t, err).Message; strings.Contains(m, "to+ken") {
		t.Error(m)
	}
}

func TestNamesOfACallDoNotReplaceHeadersOfTheSignature(t *testing.T) {
	s := serveAWS(t, "execute-api", respond(`{}`))
	b := adaptertest.Bind(t, s.source("", `  input "h" { type = map(string) }`, `    get = "/x"`+"\n"+`    headers = input.h`))
	for _, name := range []string{"Authorization", "x-amz-date", "X_Amz_Security_Token", "X-Amz-Content-Sha256"} {
		_, err := b.Do(t.Context(), fmt.Sprintf(`{"h": {%q: "UNSIGNED-PAYLOAD"}}`, name))
		wantPart(t, wantFault(t, err).Message, "the connection sets it")
	}
}

func TestACallWithoutACredentialSendsNothing(t *testing.T) {
	s := serveAWS(t, "s3", respond(`{}`))
	s.Fail(nethttp.StatusInternalServerError, "")
	_, err := adaptertest.Bind(t, s.source("  retry {}", "", `    get = "/x"`)).Do(t.Context(), `{}`)
	f := wantFault(t, err)
	wantPart(t, f.Message, "signing in failed: no AWS credential: AWS_ACCESS_KEY_ID is not set, web identity is not "+
		"configured, the container agent answered 500 Internal Server Error")
	if s.count() != 0 || !f.NotSent {
		t.Errorf("%d requests, %+v", s.count(), f)
	}
}

func TestAConnectionWithoutACredentialIsNotHealthy(t *testing.T) {
	s := serveAWS(t, "s3", respond(`{}`))
	b := adaptertest.Bind(t, s.source("", "", `    get = "/x"`))
	health := b.Handle("shop").(adapters.Health)
	if err := health.Ping(t.Context()); err != nil || s.count() != 0 {
		t.Errorf("%v after %d requests", err, s.count())
	}
	s.Fail(nethttp.StatusForbidden, "AccessDenied")
	b = adaptertest.Bind(t, s.source("", "", `    get = "/x"`))
	if err := b.Handle("shop").(adapters.Health).Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "403 Forbidden, AccessDenied") {
		t.Error(err)
	}
}

// TestAPlanSaysAsWhomItSigns makes plans while each source is configured, and no source is asked.
func TestAPlanSaysAsWhomItSigns(t *testing.T) {
	s := serveAWS(t, "s3", respond(`{}`))
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("web-token"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", file)
	t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/pod")
	for more, want := range map[string]string{
		"":                     "AWS signature of s3 in eu-central-1\n",
		`source = "container"`: "AWS signature of s3 in eu-central-1 (container)\n",
		`role_arn = "arn:aws:iam::123456789012:role/team/reader"`: "AWS signature of s3 in eu-central-1 (reader)\n",
	} {
		src := s.source("", "", `    get = "/x"`)
		src.HCL = strings.Replace(src.HCL, "region =", more+"\n      region =", 1)
		plan, err := adaptertest.Bind(t, src).Plan(t.Context(), `{}`)
		if err != nil || !strings.Contains(plan, "Authorization: "+want) {
			t.Errorf("%s: %v\n%s", more, err, plan)
		}
	}
	if s.Asked() != 0 || s.count() != 0 {
		t.Errorf("%d fetches, %d requests", s.Asked(), s.count())
	}
}
