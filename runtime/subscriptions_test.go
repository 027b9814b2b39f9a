package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/edge/mcp"
)

// recordingNotifier is a Notifier that records what it is called with.
type recordingNotifier struct {
	audience
	callers []*mcp.Caller // who may be notified on their own
	mu      sync.Mutex
	heard   []string // guarded by mu
}

func newRecordingNotifier() *recordingNotifier { return &recordingNotifier{audience: func() {}} }

func (e *recordingNotifier) add(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, what)
}

func (e *recordingNotifier) ResourceUpdated(uri string, of func(*mcp.Caller) bool) {
	if of == nil {
		e.add(uri)
		return
	}
	for _, c := range e.callers {
		if of(c) {
			e.add(uri + " for " + c.Subject)
		}
	}
}

// Retain does nothing: there are no sessions.
func (e *recordingNotifier) Retain(func(*mcp.Identity) bool) {}

func (*recordingNotifier) Connected() (sessions, streams int) { return 0, 0 }

func (e *recordingNotifier) ListsChanged(in func(string) mcp.Changes) {
	for _, toolset := range []string{"", "billing", "gone"} {
		if c := in(toolset); c != (mcp.Changes{}) {
			e.add(fmt.Sprintf("%q %v", toolset, c))
		}
	}
}

// expect fails unless exactly these calls were recorded since the last time.
func (e *recordingNotifier) expect(t testing.TB, want ...string) {
	t.Helper()
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	slices.Sort(e.heard) // subscribers are told in any order
	if !slices.Equal(e.heard, want) {
		t.Errorf("told %q, want %q", e.heard, want)
	}
	e.heard = nil
}

// Version makes the backend of the tests one that tells of changes, where the test says of what.
func (a *fakeAction) Version(_ context.Context, call *adapters.Call) (string, error) {
	if a.backend.version == nil {
		return "", errors.New("nothing is known")
	}
	return a.backend.version(call.Frame.Input)
}

// A document that reads differently for each caller is read as each of those who follow it, and they alone are notified
// of its changes. Their next token makes no other caller of them, and rules about who may read it make no difference.
func TestADocumentOfEachCallerIsFollowedAsEachOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, e := newFakeBackend(), newRecordingNotifier()
		var mu sync.Mutex
		text, reads := map[string]string{}, map[string]int{}
		w.do["text"] = func(_ context.Context, call *adapters.Call) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			who := fmt.Sprint(call.Frame.ReadCaller()["subject"])
			reads[who]++
			return text[who], nil
		}
		ann, again, ben := callerOf("ann"), callerOf("ann"), callerOf("ben")
		ann.Identity.Claims, again.Identity.Claims = []byte(`{"exp":1}`), []byte(`{"exp":2}`)
		e.callers = []*mcp.Caller{ann, ben}
		src := func(text string) string {
			return `resource "a" {
				uri     = "doc://a"
				refresh = "3s"
				allow   = "caller.subject != 'eve'"
				fake { do = "text" }
				` + text + `
			}`
		}
		h := newHost(t, src(`text = "${caller.subject}"`), w.use)
		h.SetNotifier(e)
		for _, c := range []*mcp.Caller{ann, again, ben} {
			if err := h.SubscribeResource(t.Context(), c, "doc://a"); err != nil {
				t.Fatal(err)
			}
		}
		if reads["ann"] != 1 || reads["ben"] != 1 {
			t.Errorf("read %v", reads)
		}
		load(t, h, src(`text = "${caller.subject} ${output.value}"`))
		time.Sleep(time.Millisecond)
		e.expect(t, "doc://a for ann", "doc://a for ben")
		mu.Lock()
		text["ben"] = "new"
		mu.Unlock()
		time.Sleep(4 * time.Second)
		e.expect(t, "doc://a for ben")
		h.UnsubscribeResource(ben, "doc://a")
		h.UnsubscribeResource(again, "doc://a")
		mu.Lock()
		text["ben"], text["ann"] = "newer", "new"
		mu.Unlock()
		time.Sleep(4 * time.Second)
		e.expect(t, "doc://a for ann")
		load(t, h, src(`text = "${output.value}"`)) // which rules do not make a document of each caller
		time.Sleep(time.Millisecond)
		e.expect(t, "doc://a")
		h.UnsubscribeResource(ann, "doc://a")
		if n := h.subscriptions.Len(); n != 0 {
			t.Errorf("%d are followed", n)
		}
	})
}

func TestAFollowedDocumentIsReadAgainUntilNobodyFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, e := newFakeBackend(), newRecordingNotifier()
		var mu sync.Mutex
		text, reads := "one", 0
		set := func(s string) { mu.Lock(); defer mu.Unlock(); text = s }
		w.do["text"] = func(context.Context, *adapters.Call) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			reads++
			if text == "" {
				return nil, errors.New("gone")
			}
			return text, nil
		}
		h := newHost(t, `resource "r" {
			uri     = "doc://a"
			refresh = "3s"
			fake { do = "text" }
		}`, w.use)
		h.SetNotifier(e)
		time.Sleep(time.Minute)
		if reads != 0 {
			t.Errorf("read %d times for nobody", reads)
		}
		one, two := &mcp.Caller{}, &mcp.Caller{Remote: "two"}
		for _, c := range []*mcp.Caller{one, two} {
			if err := h.SubscribeResource(t.Context(), c, "doc://a"); err != nil {
				t.Fatal(err)
			}
		}
		if reads != 1 {
			t.Errorf("read %d times to know how it reads", reads)
		}
		set("two")
		time.Sleep(3*time.Second + time.Millisecond)
		e.expect(t, "doc://a")
		time.Sleep(time.Minute)
		e.expect(t)
		// What cannot be read for a while has not changed.
		set("")
		time.Sleep(10 * time.Second)
		set("two")
		time.Sleep(10 * time.Second)
		e.expect(t)
		h.UnsubscribeResource(&mcp.Caller{}, "doc://a")
		set("three")
		time.Sleep(3 * time.Second)
		e.expect(t, "doc://a")
		h.UnsubscribeResource(&mcp.Caller{}, "doc://a")
		h.UnsubscribeResource(&mcp.Caller{}, "doc://a") // once too often is nothing
		synctest.Wait()
		set("four")
		before := reads
		time.Sleep(time.Minute)
		e.expect(t)
		if reads != before {
			t.Errorf("read %d times after the last has gone", reads-before)
		}
	})
}

func TestAFileThatChangesIsNoticedWithoutBeingRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, e := newFakeBackend(), newRecordingNotifier()
		var mu sync.Mutex
		versions, reads := map[any]string{"a": "1", "b": "1"}, 0
		w.version = func(in map[string]any) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			return versions[in["name"]], nil
		}
		w.do["text"] = func(context.Context, *adapters.Call) (any, error) { reads++; return "text", nil }
		h := newHost(t, `resource "r" {
			uri_template = "doc://{name}"
			fake { do = "text" }
			text = "${input.name}"
		}`, w.use)
		h.SetNotifier(e)
		for _, uri := range []string{"doc://a", "doc://b"} {
			if err := h.SubscribeResource(t.Context(), &mcp.Caller{}, uri); err != nil {
				t.Fatal(err)
			}
		}
		mu.Lock()
		versions["b"] = "2"
		mu.Unlock()
		time.Sleep(time.Second)
		e.expect(t, "doc://b")
		time.Sleep(time.Minute)
		e.expect(t)
		if reads != 0 {
			t.Errorf("read %d times", reads)
		}
	})
}

func TestAReloadTellsThoseWhoFollowWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, e := newFakeBackend(), newRecordingNotifier()
		doc := func(name, text string) string {
			return fmt.Sprintf("resource %q {\nuri = \"doc://%s\"\ntext = %q\n}\n", name, name, text)
		}
		fake := "resource \"fake\" {\nuri = \"doc://fake\"\nrefresh = \"3s\"\nfake {\nvalue = 1\n}\n}\n"
		h := newHost(t, doc("a", "1")+doc("b", "1")+doc("c", "1")+fake, w.use)
		h.SetNotifier(e)
		for _, uri := range []string{"doc://a", "doc://b", "doc://fake"} {
			if err := h.SubscribeResource(t.Context(), &mcp.Caller{}, uri); err != nil {
				t.Fatal(err)
			}
		}
		load(t, h, doc("a", "2")+doc("b", "1")+doc("c", "2")+fake)
		e.expect(t, "doc://a")
		load(t, h, doc("a", "2")+doc("c", "3")+fake)
		e.expect(t, `"" {false false true}`, "doc://b")
		load(t, h, doc("a", "2")+doc("b", "1")+fake+tool("t", `text = "x"`))
		e.expect(t, `"" {true false true}`, "doc://b")
		load(t, h, doc("a", "2")+doc("b", "1")+"resource \"fake\" {\nuri = \"doc://fake\"\nrefresh = \"4s\"\nfake {\nvalue = 2\n}\n}\n"+tool("t", `text = "x"`))
		e.expect(t, "doc://fake")
		time.Sleep(time.Minute)
		e.expect(t)
	})
}

func TestEachToolsetIsToldOfItsOwnLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, e := newFakeBackend(), newRecordingNotifier()
		h := newHost(t, shops, w.use)
		h.SetNotifier(e)
		load(t, h, shops+"tool \"order_write\" {\ndescription = \"Write.\"\ntext = \"w\"\n}\n")
		e.expect(t, `"" {true false false}`)
		load(t, h, shops+"tool \"invoice_list\" {\ndescription = \"List.\"\ntext = \"l\"\n}\n")
		e.expect(t, `"" {true false false}`, `"billing" {true false false}`)
		load(t, h, `prompt "invoice" {
			description = "Another prompt."
			message "user" { text = "i" }
		}
		toolset "billing" { prompts = ["*"] }`+"\n"+tool("t", `text = "x"`))
		e.expect(t, `"" {true true true}`, `"billing" {true true true}`)
		load(t, h, `prompt "invoice" {
			description = "Another prompt."
			message "user" { text = "changed, and the list does not show it" }
		}`+"\n"+tool("t", `text = "x"`))
		e.expect(t, `"billing" {false true false}`) // it is gone, with its prompts
	})
}

func TestLeavingAToolsetIsToldToThoseWhoFollowThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs := `
resource "a" {
  uri  = "doc://a"
  text = "x"
}
resource "b" {
  uri  = "doc://b"
  text = "x"
}
`
		e := newRecordingNotifier()
		h := newHost(t, docs+`toolset "billing" { resources = ["a"] }`)
		h.SetNotifier(e)
		if err := h.SubscribeResource(t.Context(), &mcp.Caller{Toolset: "billing"}, "doc://a"); err != nil {
			t.Fatal(err)
		}
		load(t, h, docs+`toolset "billing" { resources = ["b"] }`)
		e.expect(t, `"billing" {false false true}`, "doc://a")
	})
}

func TestWhoMayNotReadADocumentAnyMoreMayNotFollowIt(t *testing.T) {
	const docs = `
resource "a" {
  uri  = "doc://a"
  text = "x"
}
resource "b" {
  uri_template = "doc://{name}"
  scopes       = ["b"]
  text         = input.name
}
auth {
  api_key "ada" { sha256 = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff" }
}
`
	ada := &mcp.Caller{Subject: "ada", Identity: &mcp.Identity{Subject: "ada", Groups: []string{"staff"}, Scopes: []string{"b"}}}
	eve := &mcp.Caller{Subject: "eve", Identity: &mcp.Identity{Subject: "eve"}}
	billing := &mcp.Caller{Toolset: "billing"}
	h := newHost(t, docs)
	for _, c := range []struct{ declared, may string }{
		{``, "ada a, ada b, eve a"},
		{`policy "p" {
			resources = ["*"]
			allow = "'staff' in caller.groups"
		}`, "ada a, ada b"},
		{`policy "p" {
			resources = ["b"]
			deny = "input.name == 'b'"
		}`, "ada a, eve a"},
		{`policy "p" {
			resources = ["a"]
			deny = "caller.claims.nothing > 1"
		}`, "ada b"},
		{`toolset "billing" { resources = ["a"] }`, "ada a, ada b, eve a, billing a"},
	} {
		load(t, h, docs+c.declared)
		var may []string
		for _, who := range []*mcp.Caller{ada, eve, billing} {
			for _, name := range []string{"a", "b"} {
				if h.MayNotify(who, "doc://"+name) {
					may = append(may, cmp.Or(who.Subject, who.Toolset)+" "+name)
				}
			}
		}
		if got := strings.Join(may, ", "); got != c.may {
			t.Errorf("with %s these may follow: %s, and not %s", c.declared, got, c.may)
		}
	}
	h.Close()
	if h.MayNotify(ada, "doc://a") {
		t.Error("a document of a closed host may be followed")
	}
}

func TestClosingEndsAllThatIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		h := newHost(t, `resource "r" {
			uri_template = "doc://{x}"
			refresh      = "1s"
			fake { value = input.x }
		}`, w.use)
		for i := range 50 {
			if err := h.SubscribeResource(t.Context(), &mcp.Caller{}, fmt.Sprintf("doc://%d", i)); err != nil {
				t.Fatal(err)
			}
		}
		h.Close() // the bubble fails if a goroutine is left
		if err := h.SubscribeResource(t.Context(), &mcp.Caller{}, "doc://1"); err == nil {
			t.Error("a closed host lets itself be followed")
		}
		h.UnsubscribeResource(&mcp.Caller{}, "doc://1")
	})
}

func TestFollowingGivesUpWithWhoAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		h := newHost(t, `resource "r" {
			uri     = "doc://a"
			refresh = "1s"
			fake { do = "waits" }
		}`, w.use)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := h.SubscribeResource(ctx, &mcp.Caller{}, "doc://a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if h.subscriptions.Len() != 0 {
			t.Error("it is followed all the same")
		}
	})
}
