package console_test

import (
	"net/url"
	"strings"
	"testing"

	"hatchel/runtime/edge/console"
)

// copied returns the command with an id on a page.
func (r *reply) copied(id string) string {
	for n := range r.find(id).Descendants() {
		if n.Data == "pre" {
			return textOf(n)
		}
	}
	return ""
}

func TestACallIsCopiedAsItIsEntered(t *testing.T) {
	s := newSite(t, `console {}
tool "t" {
  description = "d"
  input "order" { type = integer }
  input "note" { type = optional(nullable(string)) }
  input "tags" { type = optional(list(string)) }
  input "pin" {
    type      = string
    sensitive = true
  }
  input "card" {
    type = optional(object({ holder = string, number = string }))
  }
  text = "x"
}
tool "unlisted" {
  description = "d"
  listed      = false
  text        = "x"
}`)
	v := s.withTicket()
	page := v.get("/console/tools/t")
	const begin = "hatchel call --server https://tools.example t "
	if got := page.copied("copy-call"); got != begin+"order='<order>' pin='<pin>'" {
		t.Errorf("a new form: %s", got)
	}
	for _, c := range []struct{ posted, want string }{
		{"input.order=7&input.note=it's+a+%22test%22+$HOME", `order=7 note='it'\''s a "test" $HOME' pin='<pin>'`},
		{"input.order=7&input.note=-1", `order=7 note=-1 pin='<pin>'`},
		{"input.order=x&input.note?=empty", `'{"order":"x","note":"","pin":"<pin>"}'`},
		{"input.order=7&input.note?=null", `'{"order":7,"note":null,"pin":"<pin>"}'`},
		{"input.order=7&input.note=a\u202eb", `'{"order":7,"note":"a\u202eb","pin":"<pin>"}'`},
		{"input.order=7&input.pin=hunter2&input.note=hunter2", ""},
		{"input.order=7&input.tags[]=0&input.tags[0]=a b", `order=7 tags='["a b"]' pin='<pin>'`},
		{"input.order=7&input.card.holder=Ada", `order=7 card='{"holder":"Ada","number":"<number>"}' pin='<pin>'`},
	} {
		form := page.controls("form")
		posted, err := url.ParseQuery(strings.ReplaceAll(strings.ReplaceAll(c.posted, "\\u202e", "\u202e"), " ", "+"))
		if err != nil {
			t.Fatal(err)
		}
		for name, values := range posted {
			form[name] = values
		}
		got := v.post("/console/tools/t/copy", form)
		if call := got.copied("copy-call"); c.want != "" && call != begin+c.want {
			t.Errorf("%s is %s\nand not %s", c.posted, call, begin+c.want)
		}
		if curl := got.copied("copy-curl"); strings.Contains(textOf(got.find("copy")), "hunter2") || !strings.HasPrefix(curl, "curl ") {
			t.Errorf("%s: %s", c.posted, textOf(got.find("copy")))
		}
	}
	form := v.get("/console/tools/t?as=json").controls("form")
	form.Set("arguments", "{")
	if got := v.post("/console/tools/t/copy", form); got.status != 422 || got.find("copy-call") != nil {
		t.Errorf("what is no JSON: %d", got.status)
	}
}

// TestCommandsSayWhatTheyNeed has each way in which clients prove who calls, and a server that a client starts.
func TestCommandsSayWhatTheyNeed(t *testing.T) {
	s := newSite(t, "console {}\n"+formTool("type = integer"))
	v := s.withTicket()
	const url = "https://tools.example/mcp"
	for _, c := range []struct {
		endpoint *console.Endpoint
		want     map[string]string // a part of each command and its note
	}{
		{&console.Endpoint{URL: url}, map[string]string{"copy-call": "hatchel call --server https://tools.example t", "copy-curl": "curl -sS " + url, "copy-client": "Claude Code"}},
		{&console.Endpoint{URL: url, Credential: console.Key}, map[string]string{"copy-call": "has your key", "copy-curl": "$HATCHEL_KEY", "copy-client": "${env:HATCHEL_KEY}"}},
		{&console.Endpoint{URL: url, Credential: console.Token}, map[string]string{"copy-call": "has your token", "copy-curl": "$HATCHEL_KEY", "copy-client": "gets a token"}},
		{&console.Endpoint{URL: url, Credential: console.SignedIn}, map[string]string{"copy-call": "sign in by a browser", "copy-curl": "access token", "copy-client": "has you sign in"}},
		{&console.Endpoint{URL: url, Credential: console.Certificate}, map[string]string{"copy-curl": "--cert client.pem --key client.key", "copy-client": "certificate"}},
		{&console.Endpoint{Dir: "/etc/my tools"}, map[string]string{"copy-call": "hatchel call -C '/etc/my tools' t", "copy-client": "--claim"}},
		{&console.Endpoint{}, map[string]string{"copy-client": "--claim"}},
		{nil, nil},
	} {
		s.endpoint = c.endpoint
		page := v.get("/console/tools/t")
		for _, id := range []string{"copy-call", "copy-curl", "copy-client"} {
			if got := page.find(id); (got != nil) != (c.want[id] != "") || got != nil && !strings.Contains(textOf(got), c.want[id]) {
				t.Errorf("%+v: %s is %q", s.endpoint, id, textOf(got))
			}
		}
		if text := textOf(page.find("copy")); s.endpoint == nil && !strings.Contains(text, "Clients do not see this tool.") {
			t.Errorf("without clients: %s", text)
		}
		if curl := textOf(page.find("copy-curl")); s.endpoint != nil && s.endpoint.Credential == "" && strings.Contains(curl, "Authorization") {
			t.Errorf("%+v: %s", s.endpoint, curl)
		}
	}
}

func TestLongArgumentsAreInAFileOfACommand(t *testing.T) {
	v := newSite(t, "console {}\n"+formTool("type = string")).withTicket()
	form := v.get("/console/tools/t").controls("form")
	form.Set("input.x", strings.Repeat("long ", 20_000))
	got := v.post("/console/tools/t/copy", form)
	if call := got.copied("copy-call"); call != "hatchel call --server https://tools.example t - < arguments.json" || got.find("copy-curl") != nil ||
		got.find("copy-client") == nil || !strings.Contains(textOf(got.find("copy-call")), "too long for a command line") {
		t.Errorf("%s", textOf(got.find("copy")))
	}
	if got.controls("form").Get("input.x") != form.Get("input.x") {
		t.Error("what was entered is cut")
	}
}
