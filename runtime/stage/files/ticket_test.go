package files

import (
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// newTicket returns the ID and the query of a ticket.
func newTicket(t *testing.T, s *Store, u Upload) (id string, query url.Values) {
	t.Helper()
	id, address, _, err := s.Ticket(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return id, parsed.Query()
}

func TestTicket(t *testing.T) {
	s, _ := newTestStore(t, "")
	id, query := newTicket(t, s, Upload{Owner: "anna", Name: "../a.txt", Rules: loose})
	t.Run("is not valid with another time", func(t *testing.T) {
		changed := url.Values{"expires": {"99999999999"}, "signature": query["signature"]}
		if _, err := s.ConsumeTicket(t.Context(), id, changed); err != ErrSignature {
			t.Errorf("error %v", err)
		}
	})
	u, err := s.ConsumeTicket(t.Context(), id, query)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("gives the file its ID, owner and name", func(t *testing.T) {
		f := upload(t, s, u, "content")
		if got, err := s.FindOwned(t.Context(), "anna", id); err != nil || f.ID != id || got.Name != "a.txt" {
			t.Errorf("the file is %+v, error %v", got, err)
		}
	})
	t.Run("is valid once", func(t *testing.T) {
		if _, err := s.ConsumeTicket(t.Context(), id, query); err != ErrNotFound {
			t.Errorf("error %v", err)
		}
	})
}

func TestTicketsAreLimited(t *testing.T) {
	s, store := newTestStore(t, "")
	t.Run("in size", func(t *testing.T) {
		long := strings.Repeat("long ", 1000)
		id, _ := newTicket(t, s, Upload{Owner: "anna", Name: long, Type: "text/" + long, Rules: loose})
		if r, err := store.Record(t.Context(), kindTicket, id); err != nil || len(r.Body) > 1<<10 {
			t.Errorf("the record is %+v, error %v", r, err)
		}
	})
	t.Run("in number, for each owner", func(t *testing.T) {
		for range maxFiles - 1 {
			newTicket(t, s, Upload{Owner: "anna", Rules: loose})
		}
		if _, _, _, err := s.Ticket(t.Context(), Upload{Owner: "anna", Rules: loose}); err != ErrQuotaExceeded {
			t.Errorf("error %v", err)
		}
		newTicket(t, s, Upload{Owner: "bert", Rules: loose})
	})
}

func TestTicketIsConsumedOnceByConcurrentUploads(t *testing.T) {
	s, _ := newTestStore(t, "")
	id, query := newTicket(t, s, Upload{Owner: "anna", Rules: loose})
	var all sync.WaitGroup
	var taken atomic.Int64
	for range 32 {
		all.Go(func() {
			switch _, err := s.ConsumeTicket(t.Context(), id, query); err {
			case nil:
				taken.Add(1)
			case ErrNotFound:
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if taken.Load() != 1 {
		t.Errorf("%d uploads have consumed it", taken.Load())
	}
}
