package signin_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// beginConsole presses the button of the console at an address, and returns where it leads.
func (r *rig) beginConsole(b *browser, host string) *page {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.t.Context(), "POST", r.url+"/console/sign-in/provider", strings.NewReader("next=/console/tools"))
	if err != nil {
		r.t.Fatal(err)
	}
	q.Host = host
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := b.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	return readPage(r.t, resp)
}

// TestTheConsoleSignsInWithTheBrowserThatBegan begins in one browser and ends in another: no session.
func TestTheConsoleSignsInWithTheBrowserThatBegan(t *testing.T) {
	r := openRig(t, declared, "console { allow = \"'finance' in caller.groups\" }\n")
	own, _ := url.Parse(r.url)
	attacker, victim := newBrowser(t), newBrowser(t)
	lead := r.beginConsole(attacker, own.Host)
	if lead.location == "" {
		t.Fatalf("the button leads nowhere: %d %s", lead.status, lead.text)
	}
	back := attacker.send("GET", lead.location, nil).location
	p := victim.send("GET", back, nil)
	if p.status != http.StatusForbidden || !strings.HasPrefix(p.says(), beganElsewhere) || len(p.header["Set-Cookie"]) > 0 {
		t.Errorf("the victim gets %d %q and %q", p.status, p.says(), p.header["Set-Cookie"])
	}
	end := attacker.send("GET", back, nil)
	if end.status != http.StatusOK || !strings.Contains(strings.Join(end.header["Set-Cookie"], "\n"), "SameSite=Strict") {
		t.Errorf("the browser that began gets %d and %q", end.status, end.header["Set-Cookie"])
	}
	if home := attacker.send("GET", r.url+"/console/", nil); !strings.Contains(home.text, "ada") {
		t.Errorf("the console shows %d %s", home.status, home.location)
	}
	if again := attacker.send("GET", back, nil); again.status != http.StatusForbidden {
		t.Errorf("the same answer again gives %d", again.status)
	}
}

// TestTheAnswerForTheConsoleGoesToNoUnknownHost opens the console at a host that only the request names: the answer of
// the provider, forwarded there, would sign somebody else in as the victim.
func TestTheAnswerForTheConsoleGoesToNoUnknownHost(t *testing.T) {
	r := openRig(t, declared, "console {}\n")
	for _, host := range []string{"192.0.2.66", "192.0.2.66:80", "evil.example"} {
		p := r.beginConsole(newBrowser(t), host)
		if p.status != http.StatusForbidden || p.location != "" {
			t.Errorf("%s: %d leads to %q", host, p.status, p.location)
		}
	}
}

// TestTheAnswerForTheConsoleGoesToNoOtherMachine begins at a name of the machine of the person who opens the console: another
// person would be led to a program on their own machine, which could end the sign-in as that person.
func TestTheAnswerForTheConsoleGoesToNoOtherMachine(t *testing.T) {
	r := openRig(t, declared, "console {}\n")
	local := r.url
	for _, c := range []struct {
		url, remote, host, forwarded string
		leads                        bool
	}{
		{"https://tools.example", "203.0.113.9:4711", "localhost:9999", "", false},
		{"https://tools.example", "203.0.113.9:4711", "127.0.0.1:9999", "", false},
		{"https://tools.example", "203.0.113.9:4711", "[::1]:9999", "", false},
		{"https://tools.example", "127.0.0.1:4711", "localhost:9999", "203.0.113.9", false},
		{"https://tools.example", "127.0.0.1:4711", "localhost:9999", "", true},
		{"https://tools.example", "203.0.113.9:4711", "tools.example", "", true},
		{local, "172.17.0.1:4711", "localhost:9999", "", true},
	} {
		r.url = c.url
		r.load(declared, "console {}\n")
		q := httptest.NewRequest("POST", "/console/sign-in/provider", strings.NewReader("next=/console/"))
		q.Host, q.RemoteAddr = c.host, c.remote
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if c.forwarded != "" {
			q.Header.Set("X-Forwarded-For", c.forwarded)
		}
		answer := httptest.NewRecorder()
		r.server.ServeHTTP(answer, q)
		if leads := answer.Code == http.StatusOK; leads != c.leads {
			t.Errorf("%+v: %d %s", c, answer.Code, answer.Body)
		}
	}
}
