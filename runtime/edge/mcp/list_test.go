package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sort"
	"strconv"
	"strings"
	"testing"
)

func entries(names ...string) (all []Entry) {
	for _, n := range names {
		all = append(all, Entry{n, []byte(fmt.Sprintf("{\"name\":%q,\n\"era\":1}", n)), []byte(fmt.Sprintf(`{"name":%q,"era":2}`, n))})
	}
	return all
}

// pageAfter returns the result with the page after a name, up to its metadata.
func pageAfter(l *List, after string, r Revision) []byte {
	from := sort.Search(len(l.names), func(i int) bool { return l.names[i] > after })
	return l.appendPage(nil, from, min(from+l.pageSize, len(l.names)), r)
}

// page decodes one page after the entry named after.
func page(t *testing.T, l *List, after string, r Revision) (names []string, next string) {
	t.Helper()
	var p struct {
		Tools      []struct{ Name string }
		NextCursor string
	}
	raw := append(pageAfter(l, after, r), '}')
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	for _, tool := range p.Tools {
		names = append(names, tool.Name)
	}
	if p.NextCursor != "" {
		var ok bool
		if next, ok = parseCursor(p.NextCursor); !ok {
			t.Fatalf("cursor %q is invalid", p.NextCursor)
		}
	}
	return names, next
}

func TestPagesAreSortedByNameInBothEras(t *testing.T) {
	l := NewList(Tools, entries("e", "b", "d", "a", "c"), ListOptions{PageSize: 2})
	for _, r := range []Revision{Revision20251125, Revision20260728} {
		var all, after = "", ""
		for {
			names, next := page(t, l, after, r)
			all += fmt.Sprint(names)
			if next == "" {
				break
			}
			after = next
		}
		if all != "[a b][c d][e]" {
			t.Errorf("pages %s", all)
		}
	}
}

func TestCursorStaysValidWhileTheListChanges(t *testing.T) {
	_, next := page(t, NewList(Tools, entries("a", "b", "c", "d"), ListOptions{PageSize: 2}), "", Revision20260728)
	changed := NewList(Tools, entries("a", "aa", "bb", "d"), ListOptions{PageSize: 2})
	if names, _ := page(t, changed, next, Revision20260728); fmt.Sprint(names) != "[bb d]" {
		t.Errorf("after %q: %v", next, names)
	}
	if names, next := page(t, NewList(Tools, nil, ListOptions{}), next, Revision20260728); names != nil || next != "" {
		t.Errorf("an empty list: %v, %q", names, next)
	}
}

func TestListsWithTheSameBytesHaveTheSameRevision(t *testing.T) {
	a, b := NewList(Tools, entries("a", "b"), ListOptions{}), NewList(Tools, entries("b", "a"), ListOptions{})
	c := NewList(Tools, entries("a", "c"), ListOptions{})
	if a.Revision() != b.Revision() || a.Revision() == c.Revision() {
		t.Errorf("%s, %s, %s", a.Revision(), b.Revision(), c.Revision())
	}
}

func TestResultsCanBeEncodedWithoutAServer(t *testing.T) {
	l := NewList(Tools, entries("b", "a"), ListOptions{PageSize: 1, Private: true})
	o := &Outcome{Content: Text("7"), Structured: Raw("7"), Wrap: true}
	for _, c := range []struct{ got, want string }{
		{string(l.AppendResult(nil, Revision20250618)), `{"tools":[{"name":"a", "era":1},{"name":"b", "era":1}]}`},
		{string(l.AppendResult(nil, Revision20260728)), `{"resultType":"complete","tools":[{"name":"a","era":2},{"name":"b","era":2}],"ttlMs":0,"cacheScope":"private"}`},
		{string(o.AppendResult(nil, Revision20241105)), `{"content":[{"type":"text","text":"7"}]}`},
		{string(o.AppendResult(nil, Revision20251125)), `{"content":[{"type":"text","text":"7"}],"structuredContent":{"result":7}}`},
		{string(o.AppendResult(nil, Revision20260728)), `{"resultType":"complete","content":[{"type":"text","text":"7"}],"structuredContent":7}`},
	} {
		if c.got != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
	req := &CallRequest{Name: "a", Arguments: []byte("{}"), Caller: &Caller{Revision: Revision20260728}}
	req.Progress(1, 2, "dropped")
	req.Log("emergency", "", Raw("1"))
}

func TestPartOfAListIsEncodedLikeAListOfItsOwn(t *testing.T) {
	all := NewList(Tools, entries("a", "b", "c", "d", "e"), ListOptions{PageSize: 2, Private: true})
	part := all.Only(func(i int) bool { return i != 1 && i != 2 })
	own := NewList(Tools, entries("a", "d", "e"), ListOptions{PageSize: 2, Private: true})
	for _, r := range []Revision{Revision20251125, Revision20260728} {
		if got, want := string(part.AppendResult(nil, r)), string(own.AppendResult(nil, r)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		for _, after := range []string{"", "a", "b", "d", "e", "z"} {
			if got, want := string(pageAfter(part, after, r)), string(pageAfter(own, after, r)); got != want {
				t.Errorf("after %q: got %s, want %s", after, got, want)
			}
		}
	}
}

func TestPartOfAPartIsAPart(t *testing.T) {
	all := NewList(Tools, entries("a", "b", "c", "d", "e"), ListOptions{})
	part := all.Only(func(i int) bool { return i != 1 && i != 2 }).Only(func(i int) bool { return i == 1 })
	if names, _ := page(t, part, "", Revision20260728); fmt.Sprint(names) != "[d]" || part.Len() != 1 {
		t.Errorf("got %s", names)
	}
}

func TestRevisionOfAPartIdentifiesItsEntries(t *testing.T) {
	all := NewList(Tools, entries("a", "b", "c"), ListOptions{})
	part := func() *List { return all.Only(func(i int) bool { return i != 1 }) }
	first, second := part(), part()
	if first.Revision() == all.Revision() || first.Revision() != second.Revision() {
		t.Errorf("%s of all, %s and %s of the part", all.Revision(), first.Revision(), second.Revision())
	}
}

func TestEmptyPartIsAnEmptyList(t *testing.T) {
	none := NewList(Tools, entries("a"), ListOptions{}).Only(func(int) bool { return false })
	if got := string(pageAfter(none, "", Revision20251125)); none.Len() != 0 || got != `{"tools":[]` {
		t.Errorf("got %s", got)
	}
}

// listHandler has one list.
type listHandler struct {
	Handler
	list *List
}

func (h listHandler) Info(string) *Info { return h.list.server }

func (h listHandler) List(context.Context, *Caller, Listing) *List { return h.list }

func TestReplyFromTheMemoryOfAListIsThatOfACopy(t *testing.T) {
	info := NewInfo(ServerInfo{Name: "s", Version: "1"})
	all := entries("a", "b", "c", "d", "e", "f")
	for _, size := range []int{1, 2, 3, 6, 1000} {
		list := NewList(Tools, all, ListOptions{PageSize: size, Server: info})
		s := New(listHandler{list: list}, Options{})
		for _, r := range []Revision{Revision20251125, Revision20260728} {
			for n, after := range []string{"", "a", "b", "c", "d", "e", "f"} {
				params := "{}"
				if after != "" {
					params = `{"cursor":"` + string(appendCursor(nil, after)) + `"}`
				}
				p, err := Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":`+params+`}`), 64)
				if err != nil {
					t.Fatal(err)
				}
				var rest []byte
				rc := RequestContext{Caller: &Caller{Revision: r}, Info: info}
				copied, _ := s.Reply(t.Context(), nil, &p.Messages[0], rc)
				rc.Rest = &rest
				sent, _ := s.Reply(t.Context(), nil, &p.Messages[0], rc)
				if got := string(sent) + string(rest); got != string(copied) || !json.Valid(copied) {
					t.Errorf("size %d, after %q: got\n%s, want\n%s", size, after, got, copied)
				}
				if begins := n%size == 0 && n < len(all); begins != (rest != nil) {
					t.Errorf("size %d, after %q: the rest is %s", size, after, rest)
				}
				rc.Info, rest = NewInfo(ServerInfo{Name: "reloaded", Version: "2"}), nil
				if s.Reply(t.Context(), nil, &p.Messages[0], rc); rest != nil {
					t.Error("the reply names another server")
				}
			}
		}
	}
}

func TestListIsTheSameAsAnEventAndAsADocument(t *testing.T) {
	info := NewInfo(ServerInfo{Name: "s", Version: "1"})
	for _, size := range []int{10, 10 + maxBufferedReply} {
		long := Entry{"long", nil, append(append([]byte(`{"name":"`), bytes.Repeat([]byte("x"), size)...), `"}`...)}
		list := NewList(Tools, append(entries("a", "b"), long), ListOptions{PageSize: 1000, Server: info})
		replies := map[string]string{}
		for _, accept := range []string{"application/json", "text/event-stream"} {
			const body = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` +
				`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
				`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},` +
				`"io.modelcontextprotocol/clientCapabilities":{}}}}`
			r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
			for name, value := range map[string]string{
				"Content-Type": "application/json", "Accept": accept, HeaderVersion: "2026-07-28", headerMethod: "tools/list",
			} {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			New(listHandler{list: list}, Options{}).For("").ServeHTTP(w, r)
			replies[accept] = w.Body.String()
			if length := w.Header().Get("Content-Length"); length != "" && length != strconv.Itoa(w.Body.Len()) {
				t.Errorf("%s: Content-Length %s of %d bytes", accept, length, w.Body.Len())
			}
		}
		document := replies["application/json"]
		if !json.Valid([]byte(document)) || len(document) < size || replies["text/event-stream"] != "data: "+document+"\n\n" {
			t.Errorf("got %.300s and %.300s", document, replies["text/event-stream"])
		}
	}
}
