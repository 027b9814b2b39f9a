// Package shop is the upstream of the orders example: an http.Handler over a few orders in memory.
package shop

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
)

// An Order as the API shows it; Total is in cents.
type Order struct {
	ID       int    `json:"id"`
	Customer string `json:"customer"`
	Status   string `json:"status"`
	Total    int    `json:"total"`
	Date     string `json:"date"`
	Note     string `json:"note,omitempty"`
}

// Shop serves the API. It is safe for concurrent use.
type Shop struct {
	http.Handler
	mu     sync.Mutex
	orders []Order // by id; guarded by mu
}

// New returns a shop with a few orders in it.
func New() *Shop {
	s := &Shop{orders: []Order{
		{ID: 1, Customer: "Ida Berg", Status: "shipped", Total: 4990, Date: "2026-10-02"},
		{ID: 2, Customer: "Noor Bakker", Status: "paid", Total: 12900, Date: "2026-10-09"},
		{ID: 3, Customer: "Tomás Rey", Status: "open", Total: 799, Date: "2026-10-15"},
		{ID: 4, Customer: "O'Brien & Sons", Status: "paid", Total: 25000, Date: "2026-11-01"},
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/orders", s.list)
	mux.HandleFunc("GET /api/v1/orders/{id}", s.one)
	mux.HandleFunc("POST /api/v1/orders", s.create)
	s.Handler = authorized(mux)
	return s
}

func authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header.Get("Authorization")) <= len("Bearer ") {
			refuse(w, http.StatusUnauthorized, "a bearer token is needed")
			return
		}
		next.ServeHTTP(w, r)
	})
}

const pageSize = 2

func (s *Shop) list(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := r.URL.Query().Get("status")
	var match []Order
	for _, o := range slices.Backward(s.orders) {
		if status == "" || o.Status == status {
			match = append(match, o)
		}
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	from = min(max(from, 0), len(match))
	to := min(from+pageSize, len(match))
	page := struct {
		Orders []Order `json:"orders"`
		Next   *string `json:"next"`
	}{Orders: match[from:to]}
	if to < len(match) {
		next := strconv.Itoa(to)
		page.Next = &next
	}
	reply(w, http.StatusOK, page)
}

func (s *Shop) one(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || id < 1 || id > len(s.orders) {
		refuse(w, http.StatusNotFound, "no such order")
		return
	}
	reply(w, http.StatusOK, s.orders[id-1])
}

func (s *Shop) create(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Customer string
		Note     string
		Lines    []struct {
			SKU      string
			Quantity int
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Customer == "" || len(in.Lines) == 0 {
		refuse(w, http.StatusUnprocessableEntity, "an order has a customer and lines")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := Order{ID: len(s.orders) + 1, Customer: in.Customer, Status: "open", Date: "2026-11-20", Note: in.Note}
	for _, l := range in.Lines {
		o.Total += 990 * l.Quantity
	}
	s.orders = append(s.orders, o)
	reply(w, http.StatusCreated, o)
}

func refuse(w http.ResponseWriter, status int, why string) {
	reply(w, status, map[string]string{"error": why})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}
