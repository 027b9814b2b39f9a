package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/edge/mcp"
)

// rowsBackend answers with the rows after the keys of the page before, as a statement with ORDER BY id does.
type rowsBackend struct {
	mu   sync.Mutex
	rows map[int]string // guarded by mu: by id
}

func (b *rowsBackend) page(_ context.Context, call *adapters.Call) (any, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := 0
	if after, ok := call.Frame.Page["after"].(map[string]any); ok {
		last = after["id"].(int)
	}
	out := []any{}
	for _, id := range slices.Sorted(maps.Keys(b.rows)) {
		if id > last && len(out) < call.Frame.Page["limit"].(int) {
			out = append(out, map[string]any{"id": id, "name": b.rows[id]})
		}
	}
	return out, nil
}

const pagedTools = `
tool "keys" {
  description = "Rows by their keys."
  input "of" { type = optional(string, "all") }
  page {
    size  = 50
    total = 20000
    keys  = { id = integer }
  }
  fake {
    do    = "look up page"
    rows  = true
    value = page.after
  }
}
tool "offset" {
  description = "Rows by their number."
  page { size = 40 }
  fake {
    do   = "look up page"
    rows = true
  }
}
tool "csv" {
  description = "Rows as CSV."
  format     = "csv"
  max_tokens = 200
  projection { offer = ["name"] }
  page {
    size = 100
    keys = { id = integer }
  }
  fake {
    do    = "look up page"
    rows  = true
    value = page.after
  }
}
tool "short" {
  description = "Few rows in all."
  page {
    size  = 10
    total = 25
    keys  = { id = integer }
  }
  fake {
    do    = "look up page"
    rows  = true
    value = page.after
  }
}
tool "ignores" {
  description = "Begins anew each time."
  page {
    size = 1
    keys = { id = integer }
  }
  fake {
    do    = "look up first"
    rows  = true
    value = page.after
  }
}
tool "returns" {
  description = "Begins anew each time, with other rows before the last one."
  page {
    size = 2
    keys = { id = integer }
  }
  fake {
    do    = "look up three"
    rows  = true
    value = page.after
  }
}
tool "nulls" {
  description = "Has rows without a day."
  input "of" { type = string }
  page {
    size  = 3
    total = 6
    keys  = { day = integer, id = integer }
  }
  fake {
    do    = "look up days"
    rows  = true
    value = [page.after, input.of]
  }
}
tool "twice" {
  description = "Has keys twice."
  page {
    size = 1
    keys = { id = integer }
  }
  fake {
    do    = "look up same"
    rows  = true
    value = page.after
  }
}
`

type pageAnswer struct {
	Rows   []map[string]any `json:"rows"`
	Cursor *string          `json:"next_cursor"`
}

// callPage makes a call, and returns the page, or the text of the answer.
func callPage(t *testing.T, h *Host, name string, caller *mcp.Caller, arguments map[string]any) (*pageAnswer, string) {
	t.Helper()
	encoded, _ := json.Marshal(arguments)
	out, err := requestTool(t.Context(), h, &mcp.CallRequest{Name: name, Arguments: encoded, Caller: caller})
	if err != nil {
		return nil, err.Error()
	}
	var answer struct {
		Content    []struct{ Text string }
		Structured *pageAnswer `json:"structuredContent"`
	}
	if err := json.Unmarshal(out.AppendResult(nil, caller.Revision), &answer); err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, block := range answer.Content {
		text += block.Text
	}
	return answer.Structured, text
}

func newPagedHost(t *testing.T, rows int, src string, options ...func(*HostOptions)) (*Host, *rowsBackend) {
	b := &rowsBackend{rows: map[int]string{}}
	for i := 1; i <= rows; i++ {
		b.rows[i*10] = fmt.Sprint("row ", i)
	}
	w := newFakeBackend()
	w.do["look up page"] = b.page
	w.do["look up first"] = func(context.Context, *adapters.Call) (any, error) {
		return []any{map[string]any{"id": 1}, map[string]any{"id": 2}}, nil
	}
	w.do["look up three"] = func(context.Context, *adapters.Call) (any, error) {
		return []any{map[string]any{"id": 1}, map[string]any{"id": 2}, map[string]any{"id": 3}}, nil
	}
	w.do["look up same"] = func(context.Context, *adapters.Call) (any, error) {
		return []any{map[string]any{"id": 1}, map[string]any{"id": 1}}, nil
	}
	w.do["look up days"] = func(_ context.Context, call *adapters.Call) (any, error) {
		of, out := call.Frame.Input["of"].(string), []any{}
		first, second, _ := strings.Cut(of, "|")
		if call.Frame.Page["after"] != nil {
			first = second
		}
		for i, day := range strings.Fields(first) {
			row := map[string]any{"id": i, "day": nil}
			if n, err := strconv.Atoi(day); err == nil {
				row["day"] = n
			}
			if day == "none" {
				delete(row, "day")
			}
			out = append(out, row)
		}
		return out, nil
	}
	return newHost(t, src, append(options, w.use)...), b
}

var ada = &mcp.Caller{Revision: mcp.Revision20251125, Subject: "ada"}

func TestEveryRowIsDeliveredOnceWhileRowsComeAndGo(t *testing.T) {
	h, b := newPagedHost(t, 10_000, pagedTools)
	seen, arguments := map[int]int{}, map[string]any{}
	for pages := 0; ; pages++ {
		p, text := callPage(t, h, "keys", ada, arguments)
		if p == nil {
			t.Fatal(text)
		}
		last := 0
		for _, row := range p.Rows {
			last = int(row["id"].(float64))
			seen[last]++
		}
		if p.Cursor == nil {
			break
		}
		if len(p.Rows) != 50 || pages > 250 {
			t.Fatalf("page %d has %d rows", pages, len(p.Rows))
		}
		b.mu.Lock()
		delete(b.rows, last)
		b.rows[last-5], b.rows[last+100_001] = "inserted before", "inserted after"
		b.mu.Unlock()
		arguments["cursor"] = *p.Cursor
	}
	for i := 1; i <= 10_000; i++ {
		if seen[i*10] != 1 {
			t.Errorf("row %d was delivered %d times", i*10, seen[i*10])
		}
	}
}

func TestPagesWithoutKeysLeaveOutWhatWasDelivered(t *testing.T) {
	h, b := newPagedHost(t, 100, pagedTools)
	first, _ := callPage(t, h, "offset", ada, map[string]any{})
	second, _ := callPage(t, h, "offset", ada, map[string]any{"cursor": *first.Cursor})
	third, _ := callPage(t, h, "offset", ada, map[string]any{"cursor": *second.Cursor})
	if len(first.Rows) != 40 || len(second.Rows) != 40 || second.Rows[0]["id"] != 410.0 || len(third.Rows) != 20 || third.Cursor != nil {
		t.Fatal(len(first.Rows), len(second.Rows), second.Rows[0], len(third.Rows))
	}
	b.mu.Lock()
	delete(b.rows, 10)
	b.mu.Unlock()
	if _, text := callPage(t, h, "offset", ada, map[string]any{"cursor": *first.Cursor}); text != "The rows before this page have changed. Repeat the call without cursor to begin again." {
		t.Error(text)
	}
}

func TestAPageThatIsCutGoesOnAfterItsLastRow(t *testing.T) {
	h, _ := newPagedHost(t, 200, pagedTools)
	arguments, names := map[string]any{}, []string{}
	for range 30 {
		p, text := callPage(t, h, "csv", ada, arguments)
		if p != nil {
			t.Fatal("structured content beside CSV")
		}
		table, notice, more := strings.Cut(text, "[")
		lines := strings.Split(strings.TrimSpace(table), "\n")
		names = append(names, lines[1:]...)
		if !more {
			break
		}
		var n int
		var cursor string
		if _, err := fmt.Sscanf(notice, "%d rows. For the next, call csv with the same arguments and cursor = %q]", &n, &cursor); err != nil || n != len(lines)-1 || n == 100 {
			t.Fatal(err, n, text)
		}
		arguments["cursor"] = cursor
	}
	if len(names) != 200 || names[0] != "row 1" || names[199] != "row 200" {
		t.Error(len(names), names)
	}
}

func TestAWalkEndsAtItsTotal(t *testing.T) {
	h, _ := newPagedHost(t, 100, pagedTools)
	arguments, n := map[string]any{}, 0
	for {
		p, text := callPage(t, h, "short", ada, arguments)
		n += len(p.Rows)
		if p.Cursor == nil {
			if n != 25 || !strings.Contains(text, "[There is more: total = 25 was reached.") {
				t.Error(n, text)
			}
			return
		}
		arguments["cursor"] = *p.Cursor
	}
}

func TestMistakesOfAPageAreFound(t *testing.T) {
	h, _ := newPagedHost(t, 100, pagedTools)
	if _, text := callPage(t, h, "twice", ada, map[string]any{}); text != "The keys of this page are not unique (id), so rows could be lost. This is a mistake in the tool's definition, not in the arguments." {
		t.Error(text)
	}
	// a statement with >=, and one whose page.after is before all rows, as one is that compares another type than it sorts
	for _, name := range []string{"ignores", "returns"} {
		first, _ := callPage(t, h, name, ada, map[string]any{})
		if _, text := callPage(t, h, name, ada, map[string]any{"cursor": *first.Cursor}); !strings.HasPrefix(text, "This page has the row that the page before ended with") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// Each case is the days of the rows of the first page, and of the second one. A row without a day would be lost where
// another page compares days, and is delivered where there is no other page.
func TestNoRowWithANullKeyIsLost(t *testing.T) {
	h, _ := newPagedHost(t, 0, pagedTools)
	const lost = "A key of this page is null in a row (day), so rows could be lost. This is a mistake in the tool's definition, not in the arguments."
	for _, c := range []struct {
		days    string
		fails   int // the page that fails; 0 for none
		because string
	}{
		{"null 1 2", 0, "there is one page"},
		{"null null null", 0, "there is one page"},
		{"none", 0, "there is one page"},
		{"1 2 3 4|5 6", 0, "all rows have keys"},
		{"1 2 3 4|5 6 7 8", 0, "total ends the walk"},
		{"null 1 2 3|4", 1, "the first row, where nulls are first"},
		{"1 null 2 3|4", 1, "a row in the middle"},
		{"1 2 null 3|4", 1, "the last row delivered"},
		{"1 2 3 null|4", 1, "the row after it"},
		{"null null null null", 1, "each row"},
		{"1 none 2 3|4", 1, "a row without the member"},
		{"1 2 3 4|5 null", 2, "the last page, where nulls are last"},
		{"1 2 3 4|null", 2, "the last page is that row"},
		{"1 2 3 4|null 5 6 7", 2, "a page at which total ends the walk"},
	} {
		arguments, failed := map[string]any{"of": c.days}, 0
		for number := 1; failed == 0; number++ {
			p, text := callPage(t, h, "nulls", ada, arguments)
			if p == nil {
				if failed = number; text != lost {
					t.Errorf("%s: %s", c.because, text)
				}
			} else if p.Cursor == nil {
				break
			} else {
				arguments["cursor"] = *p.Cursor
			}
		}
		if failed != c.fails {
			t.Errorf("%s (%s): page %d fails, want %d", c.because, c.days, failed, c.fails)
		}
	}
}

// Each case is a cursor that was not made for the call.
func TestACursorBelongsToOneCallOfOneCaller(t *testing.T) {
	h, _ := newPagedHost(t, 200, pagedTools)
	page, _ := callPage(t, h, "keys", ada, map[string]any{})
	other, _ := callPage(t, h, "short", ada, map[string]any{})
	cursor := *page.Cursor
	if len(cursor) > 110 {
		t.Errorf("a cursor has %d characters", len(cursor))
	}
	bob, elsewhere := *ada, *ada
	bob.Subject, elsewhere.Toolset = "bob", "other"
	const damaged = "cursor is not valid for this call: it belongs to another tool, other arguments or another caller, or it is damaged. Repeat the call without cursor."
	for name, c := range map[string]struct {
		caller    *mcp.Caller
		arguments map[string]any
	}{
		"of another tool":      {ada, map[string]any{"cursor": *other.Cursor}},
		"of another caller":    {&bob, map[string]any{"cursor": cursor}},
		"with other arguments": {ada, map[string]any{"cursor": cursor, "of": "some"}},
		"shortened":            {ada, map[string]any{"cursor": cursor[:len(cursor)-1]}},
		"lengthened":           {ada, map[string]any{"cursor": cursor + "A"}},
		"with a line break":    {ada, map[string]any{"cursor": cursor[:10] + "\n" + cursor[10:]}},
		"first bit":            {ada, map[string]any{"cursor": "B" + cursor[1:]}},
		"nonce":                {ada, map[string]any{"cursor": cursor[:5] + flip(cursor[5]) + cursor[6:]}},
		"text":                 {ada, map[string]any{"cursor": cursor[:40] + flip(cursor[40]) + cursor[41:]}},
		"two in one":           {ada, map[string]any{"cursor": cursor[:50] + (*other.Cursor)[50:]}},
		"no base64":            {ada, map[string]any{"cursor": "%%%"}},
		"a guess":              {ada, map[string]any{"cursor": strings.Repeat("A", 100)}},
	} {
		if _, text := callPage(t, h, "keys", c.caller, c.arguments); text != damaged {
			t.Errorf("%s: %s", name, text)
		}
	}
	if p, text := callPage(t, h, "keys", ada, map[string]any{"cursor": cursor, "of": "all"}); p == nil {
		t.Errorf("the default that is written: %s", text)
	}
	if _, text := callPage(t, h, "keys", ada, map[string]any{"cursor": strings.Repeat("A", 3000)}); !strings.HasPrefix(text, "The arguments are not valid") {
		t.Errorf("a long one: %s", text)
	}
}

func flip(c byte) string {
	if c == 'A' {
		return "B"
	}
	return "A"
}

func TestACursorOutlivesAReloadOfAnotherTool(t *testing.T) {
	h, _ := newPagedHost(t, 200, pagedTools)
	page, _ := callPage(t, h, "keys", ada, map[string]any{})
	arguments := map[string]any{"cursor": *page.Cursor}
	loadPaged(t, h, pagedTools+tool("new", `text = "x"`))
	if p, text := callPage(t, h, "keys", ada, arguments); p == nil || p.Rows[0]["id"] != 510.0 {
		t.Error(text)
	}
	loadPaged(t, h, strings.Replace(pagedTools, "size  = 50", "size  = 51", 1))
	if _, text := callPage(t, h, "keys", ada, arguments); !strings.HasPrefix(text, "cursor is not valid for this call") {
		t.Error(text)
	}
}

func TestACursorExpires(t *testing.T) {
	now := time.Now()
	h, _ := newPagedHost(t, 200, pagedTools, func(o *HostOptions) { o.Build.Now = func() time.Time { return now } })
	page, _ := callPage(t, h, "keys", ada, map[string]any{})
	now = now.Add(9 * time.Minute)
	if p, text := callPage(t, h, "keys", ada, map[string]any{"cursor": *page.Cursor}); p == nil {
		t.Error(text)
	}
	now = now.Add(2 * time.Minute)
	if _, text := callPage(t, h, "keys", ada, map[string]any{"cursor": *page.Cursor}); text != "The cursor has expired. Repeat the call without cursor." {
		t.Error(text)
	}
}

func loadPaged(t *testing.T, h *Host, src string) {
	t.Helper()
	if diags := h.Load(t.Context(), fstest.MapFS{"tools.hcl": {Data: []byte(throughSearch.addToolset(src))}}); diags.HasErrors() {
		t.Fatal(diags[0].Detail)
	}
}

// A cursor gives no right: the groups of the caller are those of each page.
func TestACursorOfACallerWhoHasLostARight(t *testing.T) {
	h, _ := newPagedHost(t, 200, pagedTools+`
mask "names" {
  members = ["name"]
  unless  = "'support' in caller.groups"
}
policy "staff" {
  tools = ["keys"]
  allow = "'staff' in caller.groups"
}
`)
	of := func(groups ...string) *mcp.Caller {
		c := *ada
		c.SetIdentity(&mcp.Identity{Subject: "ada", Groups: groups})
		return &c
	}
	first, text := callPage(t, h, "keys", of("staff", "support"), map[string]any{})
	if first == nil || first.Rows[0]["name"] != "row 1" {
		t.Fatal(text)
	}
	next := map[string]any{"cursor": *first.Cursor}
	if p, text := callPage(t, h, "keys", of("staff"), next); p == nil || p.Rows[0]["id"] != 510.0 || p.Rows[0]["name"] != "(masked)" {
		t.Errorf("without the right to see names: %v, %s", p, text)
	}
	if p, text := callPage(t, h, "keys", of("support"), next); p != nil || !strings.HasPrefix(text, "Unknown tool: keys") {
		t.Errorf("without the right to call: %v, %s", p, text)
	}
}
