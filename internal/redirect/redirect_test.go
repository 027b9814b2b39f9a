package redirect_test

import (
	"net/url"
	"strings"
	"testing"

	"hatchel/internal/redirect"
)

// accepted are addresses that real programs have, and the like.
var accepted = []string{
	"http://localhost/callback", "http://127.0.0.1/callback", "http://[::1]/callback", "http://127.0.0.1:33418/",
	"http://localhost:6274/oauth/callback", "http://127.0.0.1:1", "http://localhost?a=b",
	"https://claude.ai/api/mcp/auth_callback", "https://chatgpt.com/connector_platform_oauth_redirect",
	"https://vscode.dev/redirect", "https://tools.example:8443/a/b;v=1/c?x=1&y=2", "https://xn--bcher-kva.example/cb",
	"https://a.example", "https://a.example/", "https://a.example/%20/%C3%BC/100%25", "https://a.example/.../..a/a..",
	"https://192.0.2.7/cb", "https://[2001:db8::7]:8443/cb", "https://localhost:8443/cb",
	"cursor://anysphere.cursor-mcp/oauth/callback", "com.example.app://callback", "vscode://vendor.extension/did?windowId=1",
}

// refused are attacks and mistakes, with a part of the reason.
var refused = map[string]string{
	"": "scheme", "callback": "scheme", "/callback": "scheme", "//a.example/cb": "scheme", "://a.example": "scheme",
	"1ab://x/cb": "scheme", "a_b://x/cb": "scheme",
	"javascript:alert(1)": "called back", "JaVaScRiPt:alert(1)": "called back", "javascript://a.example/%0aalert(1)": "called back",
	"data:text/html,x": "called back", "data://a.example/x": "called back", "file:///etc/passwd": "called back",
	"blob:https://a.example/1": "called back", "vbscript:x": "called back", "view-source:https://a.example": "called back",
	"intent://a.example/#Intent;end": "fragment", "about:blank": "called back", "ws://localhost/cb": "called back",
	"HTTPS://a.example/cb": "lower case", "Cursor://x/cb": "lower case",
	"https:a.example/cb": "no host", "https:/a.example/cb": "no host", "https://": "no host", "https:///cb": "no host",
	"https://:443/cb": "no host", "https://?x": "no host", "com.example.app:/cb": "no host", "urn:ietf:wg:oauth:2.0:oob": "no host",
	"http://a.example/cb": "http is accepted", "http://127.0.0.2/cb": "http is accepted", "http://0.0.0.0/cb": "http is accepted",
	"http://localhost.evil.example/cb": "http is accepted", "http://[::2]/cb": "http is accepted",
	"http://[::ffff:127.0.0.1]/cb": "not written as 127.0.0.1",
	"http://127.1/cb":              "neither", "http://2130706433/cb": "neither", "http://0x7f000001/cb": "neither",
	"http://0177.0.0.1/cb": "neither", "http://localhost./cb": "not written as localhost", "http://LOCALHOST/cb": "not written",
	"http://127.0.0.1./cb": "not written", "http://[0:0:0:0:0:0:0:1]/cb": "not written as [::1]", "http://::1/cb": "neither",
	"http://[::1%25lo]/cb": "neither", "http://[::1%lo]/cb": "neither", "http://[::1/cb": "neither",
	"https://Claude.ai/cb": "not written as claude.ai", "https://claude.ai./cb": "not written", "https://a..b/cb": "neither",
	"https://a.example%2f.evil.example/cb": "neither", "https://a%00.example/cb": "neither", "https://*.a.example/cb": "asterisk",
	"https://a.example/*": "asterisk", "https://a.example:/cb": "port", "https://a.example:0/cb": "port",
	"https://a.example:65536/cb": "port", "https://a.example:0443/cb": "port", "https://a.example:+443/cb": "port",
	"https://a.example:4 43/cb": "space", "http://localhost:80:80/cb": "neither",
	"https://user@a.example/cb": "user name", "https://claude.ai:x@evil.example/cb": "user name", "https://@a.example/cb": "user name",
	"http://localhost:1@evil.example/cb": "user name", "cursor://u@host/cb": "user name", "cursor://host:80/cb": "a port",
	"https://a.example/cb#": "fragment", "https://a.example/cb#x": "fragment", "https://a.example\\@evil.example/cb": "backslash",
	"https:\\\\a.example/cb": "backslash", "https://a.example/\\..\\cb": "backslash",
	"https://a.example/cb ": "space", " https://a.example/cb": "space", "https://a.example/c\tb": "control",
	"https://a.example/cb\r\nSet-Cookie: a=b": "control", "https://a.example/cb\x00": "control", "https://a.example/\x7f": "control",
	"https://bücher.example/cb": "ASCII", "https://сlaude.ai/cb": "ASCII", "https://claude。ai/cb": "ASCII",
	"https://a.example/\u202e": "ASCII", "https://a.example/<script>": "percent-encoded", "https://a.example/\"x": "percent-encoded",
	"https://a.example/..": "segment", "https://a.example/.": "segment", "https://a.example/a/../cb": "segment",
	"https://a.example/%2e%2e/cb": "segment", "https://a.example/.%2E/cb": "segment", "https://a.example/%2e/cb": "segment",
	"https://a.example/%252e%252e/cb": "segment", "https://a.example/%25252e%25252e/cb": "segment",
	"https://a.example/a%2f..%2fcb": "segment", "https://a.example/a/..;/cb": "segment", "https://a.example/a/..;a=b/cb": "segment",
	"https://a.example/..%2f": "segment", "https://a.example/%ef%bc%8e%ef%bc%8e/cb": "segment", "https://a.example/a%ef%bc%8f../b": "segment",
	"https://a.example/%5c..%5ccb": "backslash", "https://a.example/%255c": "backslash", "https://a.example/%ef%bc%bc": "backslash",
	"https://a.example/%c0%ae%c0%ae/": "UTF-8", "https://a.example/%u002e": "invalid", "https://a.example/%zz": "invalid",
	"https://a.example/%": "invalid", "https://a.example/%0a": "control", "https://a.example/%250d": "control",
	"https://a.example/%00": "control", "https://a.example/%c2%85": "control", "https://a.example/cb?x=%0d%0aLocation:": "control",
	"https://a.example/cb?x=%": "invalid", "https://a.example/cb?code=1": "parameter code", "https://a.example/cb?x=1&state=2": "parameter state",
	"https://a.example/cb?x=1;iss=2": "parameter iss", "https://a.example/cb?%63ode=1": "parameter code", "https://a.example/cb?ERROR=1": "parameter error",
	"https://a.example/" + strings.Repeat("a", 2048): "bytes",
}

func TestOnlyAddressesThatAllProgramsReadEquallyAreAccepted(t *testing.T) {
	for _, text := range accepted {
		if problem := redirect.Check(text); problem != "" {
			t.Errorf("%q is refused: %s", text, problem)
		}
	}
	for text, want := range refused {
		if problem := redirect.Check(text); problem == "" || !strings.Contains(problem, want) {
			t.Errorf("%q: %q, not %q", text, problem, want)
		}
	}
}

// FuzzAnAcceptedAddressIsTheSameInAnotherParser compares with net/url, and with what it writes.
func FuzzAnAcceptedAddressIsTheSameInAnotherParser(f *testing.F) {
	for _, text := range accepted {
		f.Add(text)
	}
	for text := range refused {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, problem := redirect.Parse(text)
		if problem != "" {
			if redirect.Matches(text, text) || redirect.Allows(text, text) {
				t.Errorf("%q is refused, and yet matches", text)
			}
			return
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != a.Scheme || u.Hostname() != a.Host || u.Port() != a.Port || u.User != nil ||
			u.Fragment != "" || u.ResolveReference(&url.URL{Path: "", RawQuery: u.RawQuery}).Path != u.Path ||
			strings.Contains(u.Path+"/", "/../") {
			t.Fatalf("%q is %+v, and %+v of net/url: %v", text, a, u, err)
		}
		if !redirect.Matches(text, text) {
			t.Errorf("%q does not match itself", text)
		}
	})
}

func TestLoopbackAddressesDifferInThePortAlone(t *testing.T) {
	for _, c := range []struct {
		registered, asked string
		want              bool
	}{
		{"http://localhost/callback", "http://localhost:51234/callback", true},
		{"http://localhost:1/callback", "http://localhost/callback", true},
		{"http://127.0.0.1:1/callback", "http://127.0.0.1:2/callback", true},
		{"http://[::1]/callback", "http://[::1]:2/callback", true},
		{"http://localhost/callback", "http://127.0.0.1/callback", false},
		{"http://127.0.0.1/callback", "http://[::1]/callback", false},
		{"http://localhost/callback", "https://localhost/callback", false},
		{"https://localhost:1/callback", "https://localhost:2/callback", false},
		{"http://localhost/callback", "http://localhost:1/callback/", false},
		{"http://localhost/callback", "http://localhost:1/callback?x", false},
		{"http://localhost/callback", "http://localhost:1/callback%2f..", false},
		{"http://localhost/callback", "http://localhost:1/call%62ack", false},
		{"http://localhost/", "http://localhost", false},
		{"https://a.example/cb", "https://a.example/cb", true},
		{"https://a.example/cb", "https://a.example:443/cb", false},
		{"https://a.example/cb", "https://a.example/CB", false},
		{"https://a.example/cb", "https://a.example/cb/../cb", false},
		{"https://a.example/cb", "https://a.example/cb?x", false},
		{"cursor://a/cb", "cursor://a/cb", true},
		{"cursor://a/cb", "cursor://b/cb", false},
		{"javascript:alert(1)", "javascript:alert(1)", false},
	} {
		if got := redirect.Matches(c.registered, c.asked); got != c.want {
			t.Errorf("%s registered, %s asked: %t", c.registered, c.asked, got)
		}
	}
	// Of all pairs of accepted addresses only equal ones, and loopback ones with another port, match.
	for _, a := range accepted {
		for _, b := range accepted {
			x, _ := redirect.Parse(a)
			y, _ := redirect.Parse(b)
			x.Port, y.Port = "", ""
			if got := redirect.Matches(a, b); got != (a == b || x == y && x.IsLoopback()) {
				t.Errorf("%s and %s: %t", a, b, got)
			}
		}
	}
}

func TestAnEntryCoversAnOriginOrOneAddress(t *testing.T) {
	for _, c := range []struct {
		entry, asked string
		want         bool
	}{
		{"loopback", "http://localhost:1/cb", true},
		{"loopback", "http://[::1]/x/y", true},
		{"loopback", "https://localhost/cb", false},
		{"loopback", "http://evil.example/cb", false},
		{"https://claude.ai", "https://claude.ai/api/mcp/auth_callback", true},
		{"https://claude.ai", "https://claude.ai", true},
		{"https://claude.ai", "https://claude.ai.evil.example/cb", false},
		{"https://claude.ai", "https://claude.ai@evil.example/cb", false},
		{"https://claude.ai", "https://claude.ai:8443/cb", false},
		{"https://claude.ai", "https://sub.claude.ai/cb", false},
		{"https://claude.ai", "http://claude.ai/cb", false},
		{"https://claude.ai/", "https://claude.ai/cb", false},
		{"https://a.example/cb", "https://a.example/cb", true},
		{"https://a.example/cb", "https://a.example/cb2", false},
		{"https://a.example/cb", "https://a.example/cb/x", false},
		{"cursor://anysphere.cursor-mcp", "cursor://anysphere.cursor-mcp/oauth/callback", true},
		{"cursor://anysphere.cursor-mcp", "cursor://anysphere.cursor-mcp.evil/oauth/callback", false},
		{"cursor://anysphere.cursor-mcp", "cursor://other/oauth/callback", false},
		{"cursor://anysphere.cursor-mcp", "cursors://anysphere.cursor-mcp/oauth/callback", false},
		{"http://localhost", "http://localhost:7/any", true},
		{"http://localhost:1/cb", "http://localhost:2/cb", true},
		{"http://localhost:1/cb", "http://localhost:2/other", false},
		{"javascript:", "javascript:alert(1)", false},
	} {
		if got := redirect.Allows(c.entry, c.asked); got != c.want {
			t.Errorf("the entry %s, %s asked: %t", c.entry, c.asked, got)
		}
	}
	for _, entry := range []string{"loopback", "https://claude.ai", "cursor://anysphere.cursor-mcp", "https://a.example/cb"} {
		if problem := redirect.CheckAllowed(entry); problem != "" {
			t.Errorf("%s: %s", entry, problem)
		}
	}
	for _, entry := range []string{"", "*", "https://*.claude.ai", "cursor:", "claude.ai", "http://claude.ai", "LOOPBACK"} {
		if redirect.CheckAllowed(entry) == "" {
			t.Errorf("%q is accepted", entry)
		}
	}
}
