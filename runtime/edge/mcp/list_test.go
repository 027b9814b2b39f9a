package mcp

import (
	"encoding/json"
	"fmt"
	"testing"
)

func entries(names ...string) (all []Entry) {
	for _, n := range names {
		all = append(all, Entry{n, []byte(fmt.Sprintf("{\"name\":%q,\n\"era\":1}", n)), []byte(fmt.Sprintf(`{"name":%q,"era":2}`, n))})
	}
	return all
}

// page decodes one page after the entry named after.
func page(t *testing.T, l *List, after string, r Revision) (names []string, next string) {
	t.Helper()
	var p struct {
		Tools      []struct{ Name string }
		NextCursor string
	}
	raw := append(l.appendPage(nil, after, r), '}')
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
			if got, want := string(part.appendPage(nil, after, r)), string(own.appendPage(nil, after, r)); got != want {
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
	if got := string(none.appendPage(nil, "", Revision20251125)); none.Len() != 0 || got != `{"tools":[]` {
		t.Errorf("got %s", got)
	}
}
