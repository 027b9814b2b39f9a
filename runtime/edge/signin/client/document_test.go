package client_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/internal/publicip"
	"hatchel/runtime/edge/signin/client"
)

const documentID = "https://example.com/oauth/metadata"

// documentText is the document of documentID, with members in addition.
func documentText(more string) string {
	return `{"client_id":"` + documentID + `","client_name":"Example","redirect_uris":["http://localhost/callback",
		"http://127.0.0.1/callback","https://example.com/cb"],"grant_types":["authorization_code","refresh_token"],
		"token_endpoint_auth_method":"none","logo_uri":"https://evil.example/logo.png","response_types":["code"]` + more + `}`
}

func serveText(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		io.WriteString(w, text)
	}
}

func TestADocumentDescribesItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			if len(r.Header["Cookie"])+len(r.Header["Authorization"]) > 0 || r.Method != "GET" || r.Proto != "HTTP/1.1" || !r.Close ||
				r.URL.Path != "/oauth/metadata" || r.Host != "example.com" {
				t.Errorf("the request is %+v", r)
			}
			serveText(documentText(""))(w, r)
		})
		c, err := newClients(t, declaration(), site.documents).Find(t.Context(), documentID, "192.0.2.1")
		if err != nil {
			t.Fatal(err, site.log)
		}
		if c.ID != documentID || c.Name != "Example" || c.Kind != client.Document || c.Host != "example.com" ||
			c.IsConfidential() || c.Keys != nil || !c.MayUse("refresh_token") || c.MayUse("client_credentials") {
			t.Errorf("%+v", c)
		}
		for uri, want := range map[string]bool{
			"http://localhost:51234/callback": true, "http://127.0.0.1:1/callback": true, "https://example.com/cb": true,
			"http://[::1]:1/callback": false, "https://example.com:443/cb": false, "https://evil.example/cb": false,
			"http://localhost:1/callback/../x": false, "": false,
		} {
			if c.AcceptsRedirect(uri) != want {
				t.Errorf("%s: %t", uri, !want)
			}
		}
		if site.requests.Load() != 1 {
			t.Error("the logo was requested")
		}
	})
}

// TestDocumentsOfKnownClientsAreAccepted reads what they published in September 2026, with the hosts of the documents
// admitted.
func TestDocumentsOfKnownClientsAreAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := newSigner("cimd-20260428030119").set()
		documents := map[string]string{
			"/claude": `"client_name":"Claude","redirect_uris":["https://claude.ai/api/mcp/auth_callback"],"grant_types":["authorization_code",
				"refresh_token","urn:ietf:params:oauth:grant-type:jwt-bearer"],"token_endpoint_auth_method":"none"`,
			"/claude-code": `"client_name":"Claude Code","redirect_uris":["http://localhost/callback","http://127.0.0.1/callback"],
				"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none"`,
			"/chatgpt": `"client_name":"ChatGPT","redirect_uris":["https://chatgpt.com/connector_platform_oauth_redirect"],
				"token_endpoint_auth_method":"private_key_jwt","token_endpoint_auth_methods_supported":["none","private_key_jwt"],
				"token_endpoint_auth_signing_alg":"RS256","jwks_uri":"https://example.com/jwks.json","grant_types":["authorization_code",
				"refresh_token"],"response_types":["code"],"client_uri":"https://chatgpt.com/"`,
			"/vscode": `"client_name":"Visual Studio Code","application_type":"native","redirect_uris":["http://127.0.0.1:33418/",
				"https://vscode.dev/redirect"],"grant_types":["authorization_code","refresh_token",
				"urn:ietf:params:oauth:grant-type:device_code"],"token_endpoint_auth_method":"none"`,
		}
		site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-store,no-cache,max-age=0")
			if text, found := documents[r.URL.Path]; found {
				serveText(`{"client_id":"https://example.com`+r.URL.Path+`",`+text+`}`)(w, r)
				return
			}
			serveText(keys)(w, r)
		})
		clients := newClients(t, declaration(), site.documents)
		for path, redirects := range map[string][]string{
			"/claude":      {"https://claude.ai/api/mcp/auth_callback", "!https://claude.ai/api/mcp/auth_callback?x=1"},
			"/claude-code": {"http://localhost:3118/callback", "http://127.0.0.1:54321/callback", "!http://localhost:3118/callback/x"},
			"/chatgpt":     {"https://chatgpt.com/connector_platform_oauth_redirect", "!https://chatgpt.com/other"},
			"/vscode":      {"http://127.0.0.1:50000/", "https://vscode.dev/redirect", "!http://localhost:33418/", "!https://vscode.dev/redirect/"},
		} {
			c, err := clients.Find(t.Context(), "https://example.com"+path, "192.0.2.1")
			if err != nil {
				t.Fatal(path, err, site.log)
			}
			for _, uri := range redirects {
				uri, refused := strings.CutPrefix(uri, "!")
				if c.AcceptsRedirect(uri) == refused {
					t.Errorf("%s: %s", path, uri)
				}
			}
			if !c.MayUse("refresh_token") || c.IsConfidential() != (path == "/chatgpt") {
				t.Errorf("%+v", c)
			}
		}
	})
}

// TestEveryFaultOfADocumentHasOneText tries servers and documents that are hostile or wrong. The person reads the same
// text for all; the log has the reason.
func TestEveryFaultOfADocumentHasOneText(t *testing.T) {
	type response = http.HandlerFunc
	with := func(name, value, text string) response {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(name, value)
			io.WriteString(w, text)
		}
	}
	location := func(status int, to string) response {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, status) }
	}
	good := documentText("")
	large := documentText(`,"x":"` + strings.Repeat("a", 11<<10) + `"`)
	hang := func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		time.Sleep(time.Second) // the client has given up before the answer without a body comes
	}
	keys := func(text string) response {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/keys" {
				serveText(text)(w, r)
				return
			}
			body := strings.Replace(good, `"none"`, `"private_key_jwt","jwks_uri":"https://example.com/keys"`, 1)
			serveText(body)(w, r)
		}
	}
	confidential := func(more string) response {
		return serveText(strings.Replace(good, `"none"`, `"private_key_jwt"`+more, 1))
	}
	for name, c := range map[string]struct {
		serve response
		log   string // part of the reason
	}{
		"301 to the same host":   {location(301, "https://example.com/other"), "status 301"},
		"302 to this machine":    {location(302, "http://127.0.0.1/"), "status 302"},
		"307 to metadata":        {location(307, "http://169.254.169.254/latest"), "status 307"},
		"404":                    {http.NotFound, "status 404"},
		"206":                    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(206) }, "status 206"},
		"204":                    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, "status 204"},
		"500":                    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "status 500"},
		"HTML":                   {with("Content-Type", "text/html", good), "Content-Type"},
		"text":                   {with("Content-Type", "text/plain", good), "Content-Type"},
		"JavaScript":             {with("Content-Type", "application/javascript", good), "Content-Type"},
		"no type":                {with("Content-Type", "", good), "Content-Type"},
		"compressed":             {gzipped, "Content-Encoding"},
		"11 KiB":                 {serveText(large), "more than 10240 bytes"},
		"endless":                {endless, "more than 10240 bytes"},
		"long header":            {with("X-Long", strings.Repeat("a", 20<<10), good), "header"},
		"slow before the header": {hang, "deadline"},
		"slow within the body":   {slowBody, "deadline"},
		"cut":                    {cutBody, "unexpected EOF"},
		"foreign client_id":      {serveText(strings.Replace(good, documentID, "https://example.com/other", 1)), "client_id"},
		"client_id with a slash": {serveText(strings.Replace(good, documentID, documentID+"/", 1)), "client_id"},
		"client_id in capitals":  {serveText(strings.Replace(good, documentID, "https://EXAMPLE.com/oauth/metadata", 1)), "client_id"},
		"no client_id":           {serveText(`{"redirect_uris":["http://localhost/"]}`), "client_id"},
		"client_id twice":        {serveText(documentText(`,"client_id":"https://example.com/x"`)), "appears twice"},
		"redirects twice":        {serveText(documentText(`,"redirect_uris":["https://evil.example"]`)), "appears twice"},
		"a secret":               {serveText(documentText(`,"client_secret":"s"`)), "client_secret"},
		"no JSON":                {serveText("<html>"), "not a JSON object"},
		"a list":                 {serveText("[" + good + "]"), "not a JSON object"},
		"two objects":            {serveText(good + good), "not valid JSON"},
		"deep":                   {serveText(documentText(`,"x":` + strings.Repeat("[", 900) + strings.Repeat("]", 900))), "nesting"},
		"not UTF-8":              {serveText(documentText(`,"x":"` + "\xff" + `"`)), "UTF-8"},
		"empty":                  {serveText(""), "not a JSON object"},
		"wrong types":            {serveText(strings.Replace(good, `"Example"`, `["Example"]`, 1)), "client_name has the wrong type"},
		"redirects as a text":    {serveText(`{"client_id":"` + documentID + `","redirect_uris":"http://localhost/"}`), "wrong type"},
		"no grant":               {serveText(strings.Replace(good, `"authorization_code",`, "", 1)), "grant_types"},
		"secret as method":       {serveText(strings.Replace(good, `"none"`, `"client_secret_basic"`, 1)), "auth_method"},
		"no keys":                {confidential(""), "neither jwks nor jwks_uri"},
		"both keys":              {confidential(`,"jwks":{"keys":[]},"jwks_uri":"https://example.com/keys"`), "jwks and jwks_uri"},
		"empty keys":             {confidential(`,"jwks":{"keys":[]}`), "no usable key"},
		"symmetric key":          {confidential(`,"jwks":{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`), "no usable key"},
		"many keys":              {confidential(`,"jwks":` + manyKeys()), "more than 4096 bytes"},
		"keys elsewhere":         {confidential(`,"jwks_uri":"https://evil.example/keys"`), "not one of documents"},
		"keys at a subdomain":    {confidential(`,"jwks_uri":"https://a.example.com/keys"`), "not one of documents"},
		"keys here":              {confidential(`,"jwks_uri":"http://127.0.0.1/keys"`), "jwks_uri is not accepted"},
		"keys at an address":     {confidential(`,"jwks_uri":"https://127.0.0.1/keys"`), "jwks_uri is not accepted"},
		"keys at another port":   {confidential(`,"jwks_uri":"https://example.com:8443/keys"`), "jwks_uri is not accepted"},
		"keys that are none":     {keys("{}"), "no usable key"},
		"keys that are HTML":     {keys("<html>"), "Key Set"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site, began := newSite(t, c.serve), time.Now()
				_, err := newClients(t, declaration(), site.documents).Find(t.Context(), documentID, "192.0.2.1")
				const want = "This server cannot use the description of the program at example.com. Try again in a minute"
				if text := textOf(t, err); text != want {
					t.Errorf("the person reads %q", text)
				}
				if !strings.Contains(site.log.String(), c.log) || strings.Count(site.log.String(), "\n") != 1 {
					t.Errorf("the log has no %q: %s", c.log, site.log)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

func manyKeys() string {
	one := strings.TrimSuffix(strings.TrimPrefix(newSigner("key").set(), `{"keys":[`), "]}")
	return `{"keys":[` + strings.TrimSuffix(strings.Repeat(one+",", 50), ",") + `]}`
}

func gzipped(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	io.WriteString(w, "\x1f\x8b")
}

func endless(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, strings.Repeat(" ", 1024)); err != nil {
			return
		}
	}
}

func slowBody(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, " "); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		time.Sleep(1300 * time.Millisecond) // never at the time of the deadline
	}
}

func cutBody(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "100")
	io.WriteString(w, "{")
}

// TestNothingIsLookedUpForAHostThatIsNotListed tries ids that are not addresses of a listed host, or that programs
// read differently.
func TestNothingIsLookedUpForAHostThatIsNotListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(t, serveText(documentText("")))
		clients := newClients(t, declaration(), site.documents)
		everything := declaration()
		everything.Documents = []string{"*"}
		all := newClients(t, everything, site.documents)
		for id, anyHost := range map[string]bool{ // whether they are refused also when every host is admitted
			"https://evil.example/m": false, "https://sub.example.com/m": false, "https://example.com.evil.example/m": false,
			"https://notexample.com/m": false, "https://localhost/m": false,
			"http://example.com/m": true, "HTTPS://example.com/m": true, "https://EXAMPLE.com/m": true,
			"https://example.com./m": true, "https://example.com:8443/m": true, "https://example.com:0443/m": true,
			"https://example.com@evil.example/m": true, "https://u:p@example.com/m": true, "https://example.com/m#f": true,
			"https://example.com\\@evil.example/m": true, "https://example.com/../m": true, "https://example.com/%2e%2e/m": true,
			"https://example.com": true, "https://example.com/": true, "https://example.com?x": true, "https:example.com/m": true,
			"https://еxample.com/m": true, "https://127.0.0.1/m": true, "https://[::1]/m": true, "https://2130706433/m": true,
			"https://0x7f000001/m": true, "https://127.1/m": true, "https://[::ffff:127.0.0.1]/m": true, "https://[fe80::1%25eth0]/m": true,
			"https://0.0.0.0/m": true, "https://169.254.169.254/latest/meta-data": true, "https://[64:ff9b::7f00:1]/m": true,
			"https://exa\nmple.com/m": true, "https://example.com/m ": true, "https://example.com/" + strings.Repeat("a", 1100): true,
			"https://": true, "https:///m": true,
		} {
			if _, err := clients.Find(t.Context(), id, "192.0.2.1"); err == nil || textOf(t, err) == "" {
				t.Errorf("%q is admitted", id)
			}
			if anyHost {
				if _, err := all.Find(t.Context(), id, "192.0.2.1"); err == nil || textOf(t, err) == "" {
					t.Errorf("%q is admitted among all hosts", id)
				}
			}
		}
		if site.dials.Load() > 0 {
			t.Errorf("%d connections were opened", site.dials.Load())
		}
		_, err := clients.Find(t.Context(), "https://evil.example/m", "192.0.2.1")
		if text := textOf(t, err); !strings.Contains(text, `documents = ["evil.example"]`) {
			t.Error(text)
		}
		if _, err := all.Find(t.Context(), documentID, "192.0.2.1"); err != nil {
			t.Error(err)
		}
	})
}

// TestADocumentAtAPrivateAddressIsNotRequested uses the dialer of the program. Names of this machine are the hosts.
func TestADocumentAtAPrivateAddressIsNotRequested(t *testing.T) {
	var log strings.Builder
	documents := client.NewDocuments(client.DocumentsOptions{
		Log: slog.New(slog.NewTextHandler(&log, nil)), Now: time.Now,
	})
	everything := declaration()
	everything.Documents = []string{"*"}
	_, err := newClients(t, everything, documents).Find(t.Context(), "https://localhost/m", "192.0.2.1")
	if text := textOf(t, err); !strings.Contains(text, "cannot use the description of the program at localhost") {
		t.Error(text)
	}
	if !strings.Contains(log.String(), "is a private address") {
		t.Error(log.String())
	}
	// A proxy of the environment would connect for this machine to what it may not reach.
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	asked := ""
	documents = client.NewDocuments(client.DocumentsOptions{
		Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			asked = address
			return publicip.Dialer(time.Second).DialContext(ctx, network, "127.0.0.1:443")
		},
	})
	newClients(t, declaration(), documents).Find(t.Context(), documentID, "192.0.2.1")
	if asked != "example.com:443" {
		t.Errorf("a connection to %q", asked)
	}
}

func TestADocumentIsKeptForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		control, fails, name := "", false, "First"
		site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", control)
			if fails {
				w.WriteHeader(500)
				return
			}
			serveText(strings.Replace(documentText(""), "Example", name, 1))(w, r)
		})
		clients := newClients(t, declaration(), site.documents)
		find := func(wantRequests int32, wantName string) {
			t.Helper()
			before := site.requests.Load()
			c, err := clients.Find(t.Context(), documentID, "192.0.2.1")
			switch {
			case site.requests.Load()-before != wantRequests:
				t.Errorf("%d requests", site.requests.Load()-before)
			case wantName == "" && err == nil, wantName != "" && (err != nil || c.Name != wantName):
				t.Errorf("%+v, %v", c, err)
			}
		}
		find(1, "First")
		name = "Second"
		time.Sleep(5*time.Minute - time.Second)
		find(0, "First")
		time.Sleep(time.Second)
		control = "public, max-age=1200"
		find(1, "Second")
		time.Sleep(20*time.Minute - time.Second)
		find(0, "Second")
		time.Sleep(time.Second)
		for _, c := range []string{"max-age=999999999", `max-age="86400"`, "MAX-AGE=86400, immutable"} {
			control = c
			find(1, "Second")
			time.Sleep(time.Hour - time.Second)
			find(0, "Second")
			time.Sleep(time.Second)
		}
		for _, c := range []string{"no-store, max-age=0", "max-age=-1", "max-age=99999999999999999999", "x", ""} {
			control = c
			find(1, "Second")
			time.Sleep(5*time.Minute - time.Second)
			find(0, "Second")
			time.Sleep(time.Second)
		}
		fails = true
		find(1, "")
		time.Sleep(30*time.Second - time.Nanosecond)
		find(0, "")
		time.Sleep(time.Nanosecond)
		fails = false
		find(1, "Second")
	})
}

func TestConcurrentRequestsShareOneForTheDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			serveText(documentText(""))(w, r)
		})
		clients := newClients(t, declaration(), site.documents)
		gone, cancel := context.WithCancel(t.Context())
		var first, others sync.WaitGroup
		first.Go(func() {
			// It goes away, and the others get the document all the same.
			if _, err := clients.Find(gone, documentID, "192.0.2.1"); err != nil && err != context.Canceled {
				t.Error(err)
			}
		})
		synctest.Wait()
		for i := range 100 {
			others.Go(func() {
				if _, err := clients.Find(t.Context(), documentID, fmt.Sprint("192.0.2.", i)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		cancel()
		first.Wait()
		others.Wait()
		if n := site.requests.Load(); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestRequestsForDocumentsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			serveText(strings.Replace(documentText(""), documentID, "https://example.com"+r.URL.RequestURI(), 1))(w, r)
		})
		clients := newClients(t, declaration(), site.documents)
		n := 0
		find := func(network string) error {
			n++
			_, err := clients.Find(t.Context(), fmt.Sprintf("https://example.com/%d?x=%d", n, n), network)
			return err
		}
		if _, err := clients.Find(t.Context(), documentID, "198.51.100.1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		for i := range 70 {
			err := find(fmt.Sprint("192.0.2.", i/11)) // eleven of each network
			if wantRefused := i%11 == 10 || i >= 66; (err != nil) != wantRefused {
				t.Errorf("request %d: %v", i, err)
			}
		}
		err := find("198.51.100.2")
		refused, _ := err.(*client.Refusal)
		if refused == nil || refused.Status != http.StatusTooManyRequests {
			t.Errorf("the 61st request: %v", err)
		}
		if site.requests.Load() != 61 {
			t.Errorf("%d requests were made", site.requests.Load())
		}
		// What was read before is used meanwhile, up to an hour.
		if _, err := clients.Find(t.Context(), documentID, "198.51.100.1"); err != nil {
			t.Errorf("a flood ends the use of a known document: %v", err)
		}
		time.Sleep(time.Minute)
		if err := find("192.0.2.0"); err != nil {
			t.Errorf("a minute later: %v", err)
		}
	})
}

// TestALimitEndsNoUseOfADocumentWithKeys lets the last request of a minute be the one for the document, so that none is
// left for its keys.
func TestALimitEndsNoUseOfADocumentWithKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := newSigner("1").set()
		site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/keys":
				serveText(keys)(w, r)
				return
			case "/missing":
				http.NotFound(w, r)
				return
			}
			serveText(`{"client_id":"https://example.com`+r.URL.Path+`","redirect_uris":["https://example.com/cb"],
				"token_endpoint_auth_method":"private_key_jwt","jwks_uri":"https://example.com/keys"}`)(w, r)
		})
		clients := newClients(t, declaration(), site.documents)
		if _, err := clients.Find(t.Context(), documentID, "192.0.2.0"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		for i := range 29 { // two requests each
			if _, err := clients.Find(t.Context(), fmt.Sprint("https://example.com/", i), fmt.Sprint("198.51.100.", i)); err != nil {
				t.Fatal(err)
			}
		}
		clients.Find(t.Context(), "https://example.com/missing", "192.0.2.1")
		for range 3 {
			if c, err := clients.Find(t.Context(), documentID, "192.0.2.0"); err != nil || c.Keys == nil {
				t.Errorf("%+v, %v", c, err)
			}
		}
		time.Sleep(56 * time.Minute)
		before := site.requests.Load()
		if _, err := clients.Find(t.Context(), documentID, "192.0.2.0"); err != nil || site.requests.Load() != before+2 {
			t.Errorf("it is not requested again: %v", err)
		}
	})
}

func TestTheMemoryOfDocumentsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=3600")
			serveText(strings.Replace(documentText(""), documentID, "https://example.com"+r.URL.Path, 1))(w, r)
		})
		clients := newClients(t, declaration(), site.documents)
		largest := 0
		for i := range 210 {
			if i%60 == 0 {
				time.Sleep(time.Minute)
			}
			if _, err := clients.Find(t.Context(), fmt.Sprint("https://example.com/", i), fmt.Sprint(i/10)); err != nil {
				t.Fatal(err)
			}
			largest = max(largest, site.documents.Len())
		}
		if largest > 200 {
			t.Errorf("%d documents", largest)
		}
		// Failures make room again.
		time.Sleep(2 * time.Hour)
		clients.Find(t.Context(), documentID, "192.0.2.1")
		if n := site.documents.Len(); n != 1 {
			t.Errorf("%d documents", n)
		}
	})
}

// TestAClientOfAGrantDoesNotChangeWithItsDocument changes the document between consent and token.
func TestAClientOfAGrantDoesNotChangeWithItsDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := documentText("")
		site := newSite(t, func(w http.ResponseWriter, r *http.Request) { serveText(text)(w, r) })
		clients := newClients(t, declaration(), site.documents)
		c, err := clients.Find(t.Context(), documentID, "192.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		text = strings.Replace(text, "http://localhost/callback", "https://evil.example/cb", 1)
		time.Sleep(time.Hour)
		before := site.requests.Load()
		same, err := clients.Resume(client.Kept{ID: documentID, Redirect: "http://localhost:7/callback", Keys: c.Keys})
		if err != nil || !slices.Equal(same.Redirects, []string{"http://localhost:7/callback"}) || same.Host != "example.com" ||
			same.IsConfidential() || site.requests.Load() != before {
			t.Errorf("%+v, %v", same, err)
		}
		narrow := declaration()
		narrow.Documents = []string{"other.example"}
		if _, err := newClients(t, narrow, site.documents).Resume(client.Kept{ID: documentID, Redirect: "http://localhost:7/callback"}); err == nil {
			t.Error("a client of a host that is admitted no more is resumed")
		}
		narrow.Documents = nil
		if _, err := newClients(t, narrow, site.documents).Find(t.Context(), documentID, "192.0.2.1"); err == nil {
			t.Error("a document that was read before is used for a host that is admitted no more")
		}
	})
}

// TestPeopleReadWhenDocumentsOfEveryHostAreAdmitted looks at what the page says of a host that nobody has named.
func TestPeopleReadWhenDocumentsOfEveryHostAreAdmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(t, serveText("\n"+strings.Repeat(" ", 100)+strings.Replace(documentText(""),
			"http://localhost/callback", "https://example.com/cb", 1)))
		for host, want := range map[string]string{
			"*": "Nobody has checked this name or example.com", "example.com": "Its description is at example.com, which this server admits",
		} {
			d := declaration()
			d.Documents = []string{host}
			c, err := newClients(t, d, site.documents).Find(t.Context(), documentID, "192.0.2.1")
			if err != nil || c.Describe("https://example.com/cb").Warning != want {
				t.Errorf("%s: %+v, %v", host, c, err)
			}
		}
	})
}

// TestADocumentMayHavePrivateSchemesThatAreDeclared drops those that are not.
func TestADocumentMayHavePrivateSchemesThatAreDeclared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(t, serveText(`{"client_id":"`+documentID+`","redirect_uris":["cursor://anysphere.cursor-mcp/cb",
			"other://host/cb","javascript:alert(1)","https://other.example/cb","http://evil.example/cb","https://a.example/../cb"]}`))
		for s, want := range map[string][]string{
			"with":    {"cursor://anysphere.cursor-mcp/cb", "https://other.example/cb"},
			"without": {"https://other.example/cb"},
		} {
			d := declaration()
			if s == "without" {
				d.Register = nil
			}
			c, err := newClients(t, d, site.documents).Find(t.Context(), documentID, "192.0.2.1")
			if err != nil || !reflect.DeepEqual(c.Redirects, want) {
				t.Errorf("%s: %+v, %v", s, c, err)
			}
			kept := client.Kept{ID: documentID, Redirect: "cursor://anysphere.cursor-mcp/cb"}
			if _, err = newClients(t, d, site.documents).Resume(kept); (err == nil) != (s == "with") {
				t.Errorf("%s: a grant for the private scheme is resumed: %v", s, err)
			}
		}
	})
}
