package examples_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"hatchel/examples/orders/upstream/shop"
)

// till is the shop of the example on a socket of its own, with a record of what it was asked.
type till struct {
	url string

	mu    sync.Mutex
	asked []request      // guarded by mu
	own   map[int]object // orders that the test adds, by id; guarded by mu
}

type request struct {
	line, authorization, body string
}

func openShop(t *testing.T) *till {
	t.Helper()
	b := &till{own: map[int]object{}}
	goods := shop.New()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		b.mu.Lock()
		b.asked = append(b.asked, request{r.Method + " " + r.RequestURI, r.Header.Get("Authorization"), string(body)})
		order := b.own[number(r.URL.Path)]
		b.mu.Unlock()
		if order != nil && r.Method == http.MethodGet {
			json.NewEncoder(w).Encode(order)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		goods.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	b.url = web.URL + "/api/v1"
	return b
}

// number is the last segment of a path, as a number.
func number(path string) (n int) {
	for _, c := range path[strings.LastIndexByte(path, '/')+1:] {
		n = n*10 + int(c-'0')
	}
	return n
}

// requests are what the shop was asked since the last time.
func (b *till) requests() []request {
	b.mu.Lock()
	defer b.mu.Unlock()
	asked := b.asked
	b.asked = nil
	return asked
}

func (b *till) add(id int, order object) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.own[id] = order
}

func orders(t *testing.T) (*folder, *till) {
	t.Helper()
	f, b := example(t, "orders"), openShop(t)
	f.args = []string{"--var", "shop_url=" + b.url}
	f.env = []string{"SHOP_TOKEN=s3cret-of-the-shop"}
	return f, b
}

func lines(asked []request) (lines []string) {
	for _, r := range asked {
		lines = append(lines, r.line)
	}
	return lines
}

func expectLines(t *testing.T, b *till, want ...string) {
	t.Helper()
	if got := lines(b.requests()); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the shop was asked %q, want %q", got, want)
	}
}

func TestOrdersAreListedOverAllPages(t *testing.T) {
	t.Parallel()
	f, b := orders(t)
	s := f.serve()
	var list struct {
		Orders []struct {
			ID       int
			Customer string
		}
		Truncated bool
	}
	s.call("list_orders", object{}).into(t, &list)
	if len(list.Orders) != 4 || list.Orders[0].ID != 4 || list.Orders[0].Customer != "O'Brien & Sons" || list.Orders[3].ID != 1 || list.Truncated {
		t.Errorf("listed are %+v", list)
	}
	asked := b.requests()
	if got := lines(asked); len(got) != 2 || got[0] != "GET /api/v1/orders?limit=50" || got[1] != "GET /api/v1/orders?cursor=2&limit=50" && got[1] != "GET /api/v1/orders?limit=50&cursor=2" {
		t.Errorf("the shop was asked %q", got)
	}
	if asked[0].authorization != "Bearer s3cret-of-the-shop" {
		t.Errorf("authorized by %q", asked[0].authorization)
	}
	s.call("list_orders", object{"status": "paid"}).into(t, &list)
	if len(list.Orders) != 2 {
		t.Errorf("paid are %+v", list)
	}
	if r := s.call("list_orders", object{"status": "lost"}); !r.Failed || !strings.Contains(r.text(), "status") {
		t.Errorf("an unknown status reads %q", r.text())
	}
}

func TestAnOrderIsShownOrSaidToBeUnknown(t *testing.T) {
	t.Parallel()
	f, b := orders(t)
	s := f.serve()
	var order struct {
		ID, Total              int
		Customer, Status, Date string
	}
	s.call("get_order", object{"id": 3}).into(t, &order)
	if order.ID != 3 || order.Total != 799 || order.Customer != "Tomás Rey" || order.Status != "open" || order.Date != "2026-10-15" {
		t.Errorf("the order is %+v", order)
	}
	expectText(t, s.call("get_order", object{"id": 99}), true, "There is no order 99.")
	expectLines(t, b, "GET /api/v1/orders/3", "GET /api/v1/orders/99")
	b.add(7, object{"id": "seven"})
	if r := s.call("get_order", object{"id": 7}); !r.Failed || strings.Contains(r.text(), "json:") {
		t.Errorf("an answer of another shape reads %q", r.text())
	}
}

func TestAnOrderIsCreatedAsTheCallerSaidIt(t *testing.T) {
	t.Parallel()
	f, b := orders(t)
	s := f.serve()
	line := object{"sku": "AB-1234", "quantity": 2}
	expectText(t, s.call("create_order", object{"customer": "Ada & Co", "lines": []object{line}}), false, "Order 5 created: 1980 cents for Ada & Co.")
	if got, want := b.requests()[0].body, `{"customer":"Ada & Co","lines":[{"sku":"AB-1234","quantity":2}]}`; !sameJSON(t, got, want) {
		t.Errorf("the shop has received %s, want %s", got, want)
	}
	s.call("create_order", object{"customer": "Ada", "lines": []object{line}, "note": "ring twice"})
	if got := b.requests()[0].body; !strings.Contains(got, `"note":"ring twice"`) {
		t.Errorf("the shop has received %s", got)
	}
	var order struct{ Note string }
	s.call("get_order", object{"id": 6}).into(t, &order)
	if order.Note != "ring twice" {
		t.Errorf("the note is %q", order.Note)
	}
	b.requests()
	r := s.call("create_order", object{"customer": "", "lines": []object{{"sku": "x", "quantity": 0}}, "price": 1})
	for _, want := range []string{"customer", "lines[0].sku", "lines[0].quantity", "price"} {
		if !r.Failed || !strings.Contains(r.text(), want) {
			t.Errorf("there is no word about %s in:\n%s", want, r.text())
		}
	}
	expectLines(t, b)
}

func TestPaidOrdersAreCopiedIntoTheLedger(t *testing.T) {
	t.Parallel()
	f, b := orders(t)
	s := f.serve()
	expectText(t, s.call("sync_order", object{"id": 2}), false, "Order 2: stored.")
	expectText(t, s.call("sync_order", object{"id": 1}), false, "Order 1: not paid, skipped.")
	b.add(2, object{"id": 2, "customer": "Noor Bakker", "status": "paid", "total": 13000, "date": "2026-10-09"})
	expectText(t, s.call("sync_order", object{"id": 2}), false, "Order 2: stored.")
	if r := s.call("sync_order", object{"id": 99}); !r.Failed || !strings.Contains(r.text(), "404") {
		t.Errorf("an unknown order reads %q", r.text())
	}
	got := f.rows("SELECT id, date, amount, vendor FROM invoices")
	if len(got) != 1 || strings.Join(got[0], "|") != "2|2026-10-09|13000|Noor Bakker" {
		t.Errorf("the ledger holds %q", got)
	}
	var ledger []struct {
		ID, Amount   int
		Date, Vendor string
	}
	s.call("ledger", object{}).into(t, &ledger)
	if len(ledger) != 1 || ledger[0].Amount != 13000 || ledger[0].Vendor != "Noor Bakker" {
		t.Errorf("the ledger reads %+v", ledger)
	}
}

func TestAShopThatIsAwayIsSaidSo(t *testing.T) {
	t.Parallel()
	f := example(t, "orders")
	f.args = []string{"--var", "shop_url=http://127.0.0.1:1/api/v1"}
	s := f.serve()
	r := s.call("get_order", object{"id": 1})
	if !r.Failed || !strings.HasPrefix(r.text(), "The shop did not answer: ") || strings.Contains(r.text(), "127.0.0.1") || strings.Contains(r.text(), "dial") {
		t.Errorf("it reads %q", r.text())
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Errorf("%v in %s", err, a)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err)
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}
