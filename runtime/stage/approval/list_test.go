package approval_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"hatchel/runtime/durable/state"
	"hatchel/runtime/stage/approval"
)

func TestListPages(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func() state.Store) {
		b := approval.NewStore(open())
		until := time.Now().Add(time.Hour)
		var want []string
		for i := range 25 {
			r := request("ann")
			r.Deadline = until.Add(time.Duration(i/5) * time.Second) // five with the same deadline
			if _, _, err := b.Open(t.Context(), fmt.Sprint(i), r); err != nil {
				t.Fatal(err)
			}
		}
		all, next, err := b.List(t.Context(), approval.ListQuery{Status: approval.Pending, Limit: 100})
		if err != nil || next != "" || len(all) != 25 {
			t.Fatalf("%d, then %q (%v)", len(all), next, err)
		}
		for _, e := range all {
			want = append(want, e.ID)
		}
		var got []string
		for after, n := "", 0; n == 0 || after != ""; n++ {
			page, next, err := b.List(t.Context(), approval.ListQuery{Status: approval.Pending, After: after, Limit: 4})
			if err != nil || n > 10 {
				t.Fatal(err)
			}
			for _, e := range page {
				got = append(got, e.ID)
			}
			after = next
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("in pages: %v\nat once:  %v", got, want)
		}
		for _, after := range []string{"x", "-", "zz-zz", "../-x"} {
			if _, _, err := b.List(t.Context(), approval.ListQuery{After: after, Limit: 1}); !errors.Is(err, approval.ErrCursor) {
				t.Errorf("%q: %v", after, err)
			}
		}
	})
}

func TestListFiltersByStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBook(t)
		gone := openNew(t, b, "gone")
		time.Sleep(6 * time.Minute)
		ids := map[approval.Status]string{approval.Expired: gone.ID, approval.Pending: openNew(t, b, "pending").ID}
		for _, s := range []approval.Status{approval.Approved, approval.Rejected, approval.Used} {
			a := openNew(t, b, string(s))
			ids[s] = a.ID
			if _, err := b.Decide(t.Context(), a.ID, s != approval.Rejected, by("bob")); err != nil {
				t.Fatal(err)
			}
			if s == approval.Used {
				if used, err := b.Use(t.Context(), a); !used || err != nil {
					t.Fatal(err)
				}
			}
		}
		for s, id := range ids {
			list, _, err := b.List(t.Context(), approval.ListQuery{Status: s, Limit: 10})
			if err != nil || names(list) != fmt.Sprint([]string{id}) || list[0].Status != s {
				t.Errorf("the list of %s approvals is %s, error %v", s, names(list), err)
			}
		}
		if list, _, err := b.List(t.Context(), approval.ListQuery{Limit: 10}); err != nil || len(list) != 5 {
			t.Errorf("the list of all approvals is %s, error %v", names(list), err)
		}
	})
}

func TestJSONEscapesControlCharacters(t *testing.T) {
	b, _ := newBook(t)
	r := request("ann")
	evil := "\x1b[2J\u009b31m\u202egnp.exe\u2066\u200b\x7f\x00 ok \U000e0001"
	text, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	r.Arguments = json.RawMessage(`{"note":"` + "\u009b\u202e" + `","more":` + string(text) + `}`)
	r.Message, r.Effect, r.Title = evil, evil, evil
	if _, _, err := b.Open(t.Context(), "x", r); err != nil {
		t.Fatal(err)
	}
	list, _, err := b.List(t.Context(), approval.ListQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	out := string(list[0].AppendJSON(nil))
	if i := strings.IndexFunc(out, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("%q is not escaped in %s", out[i:i+4], out)
	}
	var back struct{ Message, Status, Tool string }
	if err := json.Unmarshal([]byte(out), &back); err != nil || back.Message != evil || back.Status != "pending" || back.Tool != "refund" {
		t.Errorf("it decodes to %+v, error %v", back, err)
	}
}
