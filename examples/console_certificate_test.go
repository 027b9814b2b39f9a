package examples_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"hatchel/runtime/edge/auth/issuertest"
)

func TestACertificateSignsInToTheConsole(t *testing.T) {
	t.Parallel()
	f := &folder{t: t, path: t.TempDir()}
	ours := issuertest.NewAuthority(t, "ours")
	named := func(name string) *x509.Certificate {
		return &x509.Certificate{
			Subject: pkix.Name{CommonName: name, OrganizationalUnit: []string{name + "s"}}, DNSNames: []string{"localhost"},
		}
	}
	ours.Issue(f.path, "server", named("server"))
	ours.WriteOwn(f.path, "ca.pem")
	f.write("a.hcl", `
tls {
  cert      = "server.pem"
  key       = "server.key"
  client_ca = "ca.pem"
}
console { allow = "'operators' in caller.groups" }
tool "t" {
  description = "A tool."
  text        = "x"
}
`)
	origin := strings.TrimSuffix(f.serve().url, "/mcp")
	trusted := x509.NewCertPool()
	trusted.AddCert(ours.Certificate)
	jars := map[string]http.CookieJar{}
	// send sends a request of a browser, which keeps the cookies of its person.
	send := func(who, method, path, form string, shown ...tls.Certificate) (*http.Response, string) {
		t.Helper()
		if jars[who] == nil {
			jars[who], _ = cookiejar.New(nil) // which never fails
		}
		client := &http.Client{
			Jar: jars[who], CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{TLSClientConfig: &tls.Config{
				RootCAs: trusted, ServerName: "localhost", Certificates: shown,
			}},
		}
		defer client.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), method, origin+path, strings.NewReader(form))
		if err != nil {
			t.Fatal(err)
		}
		if form != "" {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Origin", origin)
		}
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(body)
	}
	const signIn = "/console/sign-in"
	form := url.Values{"with": {"certificate"}, "next": {"/console/tools"}}.Encode()

	if res, page := send("nobody", "GET", signIn, ""); res.StatusCode != 200 || strings.Contains(page, "certificate-form") {
		t.Errorf("the page without a certificate: %d %s", res.StatusCode, page)
	}
	if res, _ := send("nobody", "POST", signIn, form); res.StatusCode != 401 || len(res.Cookies()) > 0 {
		t.Errorf("signing in without a certificate: %d %v", res.StatusCode, res.Cookies())
	}
	operator := ours.Issue(f.path, "operator", named("operator"))
	if _, page := send("operator", "GET", signIn, "", operator); !strings.Contains(page, "Sign in as operator") {
		t.Errorf("the page with a certificate: %s", page)
	}
	if res, _ := send("operator", "GET", "/console/tools", "", operator); res.StatusCode != 303 {
		t.Errorf("a page before signing in: %d", res.StatusCode)
	}
	res, page := send("operator", "POST", signIn, form, operator)
	if res.StatusCode != 303 || res.Header.Get("Location") != "/console/tools" {
		t.Fatalf("signing in with a certificate: %d %s", res.StatusCode, page)
	}
	if c := res.Cookies(); len(c) != 1 || !strings.HasPrefix(c[0].Name, "__Host-hatchel-") || !c[0].Secure || !c[0].HttpOnly {
		t.Errorf("the cookies are %v", c)
	}
	res, page = send("operator", "GET", "/console/tools", "", operator)
	if res.StatusCode != 200 || !strings.Contains(page, `<summary id="who">operator</summary>`) {
		t.Errorf("a page after signing in: %d %s", res.StatusCode, page)
	}
	guest := ours.Issue(f.path, "guest", named("guest"))
	send("guest", "POST", signIn, form, guest)
	if res, _ := send("guest", "GET", "/console/tools", "", guest); res.StatusCode != 403 {
		t.Errorf("somebody whom allow does not permit: %d", res.StatusCode)
	}

	theirs := issuertest.NewAuthority(t, "theirs")
	theirs.WriteOwn(f.path, "ca.pem")
	eventually(t, "the session ends with its authority", func() bool {
		res, _ := send("operator", "GET", "/console/tools", "")
		return res.StatusCode == 303
	})
}
