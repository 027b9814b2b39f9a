package examples_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// bank pays whatever it is asked to, counts it, and may be out of order.
type bank struct {
	url string

	mu    sync.Mutex
	paid  []string // keys of payments; guarded by mu
	asked int      // for rates; guarded by mu
	down  bool     // guarded by mu
}

func openBank(t *testing.T) *bank {
	t.Helper()
	b := new(bank)
	web := httptest.NewServer(b)
	t.Cleanup(web.Close)
	b.url = web.URL
	return b
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case b.down:
		b.asked++
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.Method == http.MethodPost:
		b.paid = append(b.paid, r.Header.Get("Idempotency-Key"))
		fmt.Fprintf(w, `{"payment":%d}`, len(b.paid))
	default:
		b.asked++
		json.NewEncoder(w).Encode(map[string]any{"currency": strings.TrimPrefix(r.URL.Path, "/rates/"), "rate": 1.08})
	}
}

func payments(t *testing.T) (*server, *bank) {
	t.Helper()
	f, b := example(t, "payments"), openBank(t)
	f.args = []string{"--var", "bank_url=" + b.url}
	return f.serve(), b
}

func TestAPaymentThatIsTriedAgainIsMadeOnce(t *testing.T) {
	t.Parallel()
	s, b := payments(t)
	order := map[string]any{"order": 7, "amount": 1250, "idempotency_key": "order-7"}
	for range 3 {
		if r := s.call("pay_order", order); r.Failed || r.text() != `{"payment":1}` {
			t.Errorf("%s", r.text())
		}
	}
	order["amount"] = 9999
	if r := s.call("pay_order", order); !r.Failed || !strings.Contains(r.text(), "other arguments") {
		t.Errorf("another amount: %s", r.text())
	}
	if fmt.Sprint(b.paid) != "[order-7]" {
		t.Errorf("the bank was told of %q", b.paid)
	}
}

func TestARateIsAskedForOnceInAWhile(t *testing.T) {
	t.Parallel()
	s, b := payments(t)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if r, err := s.send("exchange_rate", []byte(`{"currency":"USD"}`)); err != nil || r.Failed || !strings.Contains(r.text(), "1.08") {
				t.Errorf("%v %v", r, err)
			}
		})
	}
	if all.Wait(); b.asked != 1 {
		t.Errorf("the bank was asked %d times", b.asked)
	}
}

func TestABankThatIsOutOfOrderIsLeftAlone(t *testing.T) {
	t.Parallel()
	s, b := payments(t)
	b.mu.Lock()
	b.down = true
	b.mu.Unlock()
	for _, currency := range []string{"AAA", "BBB", "CCC", "DDD", "EEE"} {
		r := s.call("exchange_rate", map[string]any{"currency": currency})
		if left := strings.Contains(r.text(), "are suspended"); !r.Failed || left != (currency > "CCC") {
			t.Errorf("%s: %s", currency, r.text())
		}
	}
	if b.asked != 3 {
		t.Errorf("it was asked %d times", b.asked)
	}
}
