package files

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// findAt returns the file of a signed URL.
func findAt(t *testing.T, s *Store, link string) (*File, error) {
	u, err := url.Parse(link)
	if err != nil {
		return nil, err
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, err
	}
	return s.FindSigned(t.Context(), u.Path[strings.LastIndexByte(u.Path, '/')+1:], query)
}

func TestSignedURL(t *testing.T) {
	s, _ := newTestStore(t, "")
	f := upload(t, s, Upload{Owner: "anna", Name: "a.txt"}, "signed")
	other := upload(t, s, Upload{Owner: "anna"}, "another")
	link, err := s.SignedURL(t.Context(), "https://tools.example.com", f)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("is valid", func(t *testing.T) {
		if _, err := findAt(t, s, link); err != nil {
			t.Errorf("%s: %v", link, err)
		}
	})
	t.Run("is not valid with any changed byte", func(t *testing.T) {
		for i := strings.Index(link, "file_"); i < len(link); i++ {
			for _, b := range []byte{link[i] ^ 1, 'A', '0', '%', '&'} {
				changed := link[:i] + string(b) + link[i+1:]
				if _, err := findAt(t, s, changed); changed != link && err == nil {
					t.Errorf("%s is valid, too", changed)
				}
			}
		}
	})
	t.Run("is not valid for another file", func(t *testing.T) {
		if _, err := findAt(t, s, strings.Replace(link, f.ID, other.ID, 1)); err == nil {
			t.Error("it is valid")
		}
	})
	t.Run("expires", func(t *testing.T) {
		expired, err := s.sign(t.Context(), allowGet, "/files/", f.ID, time.Now().Add(-time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := findAt(t, s, expired); err != ErrSignature {
			t.Errorf("error %v", err)
		}
	})
	t.Run("of an upload does not allow a download", func(t *testing.T) {
		_, put, _, err := s.Ticket(t.Context(), Upload{Owner: "anna", Rules: loose})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := findAt(t, s, strings.Replace(put, "uploads/", "", 1)); err != ErrSignature {
			t.Errorf("error %v", err)
		}
	})
	t.Run("is shown without its signature", func(t *testing.T) {
		shown := RedactSignatures("POST " + link + " {}")
		if strings.Contains(shown, link[len(link)-43:]) || !strings.Contains(shown, f.ID) {
			t.Error(shown)
		}
	})
}
