package http_test

import (
	"errors"
	"fmt"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
)

// redirectFault returns the fault about a redirect to another host, which may name that host.
func redirectFault(t *testing.T, err error) *adapters.Fault {
	t.Helper()
	var f *adapters.Fault
	if !errors.As(err, &f) {
		t.Fatalf("not a fault: %v", err)
	}
	adaptertest.CheckFault(t, f, "s3cret-k3y")
	return f
}

// TestARedirectNeverChangesWhatIsSent tries all methods, bodies and statuses.
func TestARedirectNeverChangesWhatIsSent(t *testing.T) {
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if rest, ok := strings.CutPrefix(r.URL.Path, "/move/"); ok {
			var status int
			_, _ = fmt.Sscan(rest, &status)
			w.Header().Set("Location", "/items/?token=abcdef123456&page=1#top")
			w.WriteHeader(status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{}`))
	})
	bodies := map[string]string{
		"none": "", "json": `json = { x = 1 }`, "form": `form = { x = "1" }`, "raw": `body = "x"`,
		"multipart": `multipart = { x = "1", f = { content = "text", filename = "a.txt" } }`,
	}
	for _, method := range []string{"get", "post", "put", "patch", "delete", "head"} {
		for kind, body := range bodies {
			if method == "head" && kind != "none" {
				continue
			}
			for _, status := range []int{301, 302, 303, 307, 308} {
				t.Run(fmt.Sprintf("%s with %s body at %d", method, kind, status), func(t *testing.T) {
					before := s.count()
					b := adaptertest.Bind(t, source(s.URL, "", "", fmt.Sprintf("    %s = \"/move/%d\"\n    %s", method, status, body)))
					_, err := b.Do(t.Context(), `{}`)
					isRead := method == "get" || method == "head"
					if status <= 302 && (!isRead || kind != "none") {
						f := wantFault(t, err)
						wantPart(t, f.Message, fmt.Sprintf("the service returned %d", status))
						wantPart(t, f.Message, "a redirect to /items/?token=…&page=1 that is not followed: ")
						if f.Status != status || f.Change != adapters.ChangeAnswered || s.count() != before+1 {
							t.Errorf("%+v after %d requests", f, s.count()-before)
						}
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					first, last := s.seen[before], s.last()
					want := first
					if status == 303 && method != "head" {
						want.Request, want.body = &nethttp.Request{Method: "GET"}, ""
					}
					if last.Method != want.Method || last.body != want.body || s.count() != before+2 {
						t.Errorf("%s %q became %s %q", first.Method, first.body, last.Method, last.body)
					}
					if want.body != "" && last.Header.Get("Content-Type") != first.Header.Get("Content-Type") {
						t.Errorf("the body is %s", last.Header.Get("Content-Type"))
					}
				})
			}
		}
	}
}

// TestHTTPSAfterHTTPOnTheSameHostIsFollowed has a service with one port for each.
func TestHTTPSAfterHTTPOnTheSameHostIsFollowed(t *testing.T) {
	dir := t.TempDir()
	cert, key := newCertificate(t, dir, "service", time.Now().Add(time.Hour))
	secure := serveTLS(t, cert, key, "")
	plain := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		nethttp.Redirect(w, r, secure+"/new"+r.URL.RequestURI(), nethttp.StatusPermanentRedirect)
	})
	ca := fmt.Sprintf("  ca_file = %q\n  headers = { X-Tenant = \"7\" }\n", filepath.Base(cert))
	call := func(connection, block string) (map[string]any, error) {
		src := source(plain.URL, ca+connection, "", block)
		src.Dir = t.TempDir()
		pem, err := os.ReadFile(cert)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(src.Dir, filepath.Base(cert)), pem, 0o600); err != nil {
			t.Fatal(err)
		}
		return adaptertest.Bind(t, src).Do(t.Context(), `{}`)
	}
	t.Run("for a GET", func(t *testing.T) {
		out, err := call("", "    get = \"/a\"\n    as = \"text\"")
		if err != nil || out["status"] != 200 {
			t.Fatalf("%v, %v", out, err)
		}
	})
	t.Run("without credentials on another port", func(t *testing.T) {
		out, err := call("  auth {\n    bearer = secret.key\n  }\n", "    get = \"/a\"\n    as = \"text\"\n    headers = { X-Key = secret.key }")
		if err != nil {
			t.Fatal(err)
		}
		if out["headers"].(map[string]any)["seen-accept"] == nil {
			t.Error("no header was seen")
		}
		for _, name := range []string{"authorization", "x-key", "x-tenant"} {
			if text := out["headers"].(map[string]any)["seen-"+name]; text != nil {
				t.Errorf("%s was sent: %v", name, text)
			}
		}
	})
	t.Run("never back", func(t *testing.T) {
		_, err := call("", fmt.Sprintf(`    get = "/a?back=%s"`, url.QueryEscape(plain.URL+"/b")))
		f := redirectFault(t, err)
		wantPart(t, f.Message, "a redirect to "+plain.URL+"/b that is not followed: it leaves https")
		if f.Status != 308 {
			t.Errorf("status %d", f.Status)
		}
	})
	t.Run("not for a POST", func(t *testing.T) {
		_, err := call("", `    post = "/a"`)
		wantPart(t, redirectFault(t, err).Message, "a redirect to "+secure+"/new/a that is not followed: it is on another port")
	})
}

// TestAnAddressOfARedirectIsShownWithoutSecrets has services that repeat what was sent to them.
func TestAnAddressOfARedirectIsShownWithoutSecrets(t *testing.T) {
	for name, location := range map[string]string{
		"a secret of the request": "https://other.example/?key=s3cret-k3y",
		"an escaped secret":       "https://other.example/?next=s3cret-k3y",
		"a user":                  "https://someone:s3cret-k3y@other.example/",
		"a signature":             "https://other.example/?X-Amz-Signature=" + strings.Repeat("0123456789abcdef", 4),
		"a secret in the path":    "/v1/s3cret-k3y/",
		"an address on https":     "HTTPS://s3cret-k3y.example/",
		"control characters":      "https://other.example/%0d%0as3cret-k3y",
		"an address without end":  "https://other.example/" + strings.Repeat("x", 5000) + "s3cret-k3y",
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
				w.Header().Set("Location", location)
				w.WriteHeader(nethttp.StatusFound)
			})
			_, err := adaptertest.Bind(t, source(s.URL, "  auth {\n    bearer = secret.key\n  }", "", `    post = "/"`)).Do(t.Context(), `{}`)
			f := wantFault(t, err)
			if strings.Contains(f.Message, "s3cret") || strings.Contains(f.Message, "someone") || strings.Contains(f.Message, "0123456789abcdef0") || len(f.Message) > 500 {
				t.Error(f.Message)
			}
			wantPart(t, f.Message, ", a redirect to ")
		})
	}
	t.Run("an address that is none", func(t *testing.T) {
		s := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Location", "http://[s3cret-k3y")
			w.WriteHeader(nethttp.StatusFound)
		})
		for _, method := range []string{"get", "post"} {
			_, err := adaptertest.Bind(t, source(s.URL, "", "", "    "+method+` = "/"`)).Do(t.Context(), `{}`)
			f := wantFault(t, err)
			wantPart(t, f.Message, "the service returned 302 Found, a redirect to an address that is not a URL")
			if f.Status != nethttp.StatusFound || f.Change != adapters.ChangeAnswered {
				t.Errorf("%+v", f)
			}
		}
		out, err := adaptertest.Bind(t, source(s.URL, "", "", "    get = \"/\"\n    as = \"text\"\n    ok_status = [302]")).Do(t.Context(), `{}`)
		if err != nil || out["headers"].(map[string]any)["location"] != "http://[s3cret-k3y" {
			t.Errorf("as the answer: %v, %v", out, err)
		}
	})
}

// TestARedirectMayBeTheAnswer reads the address of a file that is on another host.
func TestARedirectMayBeTheAnswer(t *testing.T) {
	other := httptest.NewServer(respond(`{}`))
	defer other.Close()
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		nethttp.Redirect(w, r, other.URL, nethttp.StatusFound)
	})
	b := adaptertest.Bind(t, source(s.URL, "", "", "    get = \"/\"\n    as = \"text\"\n    ok_status = [302]"))
	out, err := b.Do(t.Context(), `{}`)
	if err != nil || out["headers"].(map[string]any)["location"] != other.URL {
		t.Errorf("%v, %v", out, err)
	}
}

func TestTheHostOfARedirectIsComparedWithoutCase(t *testing.T) {
	s := serve(t, nil)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
	s.Config.Handler = nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Location", (&url.URL{Scheme: "http", Host: "LOCALHOST:" + port, Path: "/end"}).String())
			w.WriteHeader(302)
			return
		}
		respond(`{}`)(w, r)
	})
	if _, err := adaptertest.Bind(t, source("http://localhost:"+port, "", "", `    get = "/"`)).Do(t.Context(), `{}`); err != nil {
		t.Error(err)
	}
}
