package audit

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"hatchel/runtime/durable/postgres/postgrestest"
)

// memory keeps the head for a test.
type memory struct{ head Head }

func (m *memory) Head(context.Context) (Head, error) { return m.head, nil }

func (m *memory) Keep(_ context.Context, h Head) error {
	m.head = h
	return nil
}

// writeRemembered opens the log, adds a record and closes it. It reports whether the end was cut off before.
func writeRemembered(t *testing.T, address string, m Memory) (cut bool) {
	t.Helper()
	l, err := OpenTable(t.Context(), address)
	check(t, err)
	cut, err = l.Remember(t.Context(), m)
	check(t, err)
	check(t, l.Append(call("x"), true))
	check(t, l.Close())
	return cut
}

func TestTheCutEndOfATableIsFound(t *testing.T) {
	address, db := postgrestest.Schema(t)
	m := &memory{}
	for range 3 {
		if writeRemembered(t, address, m) {
			t.Fatal("a restart is a cut")
		}
	}
	if m.head.Sequence != 9 {
		t.Fatalf("remembers %v", m.head)
	}
	execute(t, db, "ALTER TABLE hatchel_audit DISABLE TRIGGER ALL")
	execute(t, db, "DELETE FROM hatchel_audit WHERE seq < 4")
	execute(t, db, "ALTER TABLE hatchel_audit ENABLE ALWAYS TRIGGER hatchel_audit_only_added")
	if writeRemembered(t, address, m) {
		t.Error("removed old records are a cut end")
	}
	for _, remaining := range []string{"7", "0"} {
		execute(t, db, "ALTER TABLE hatchel_audit DISABLE TRIGGER ALL")
		execute(t, db, "DELETE FROM hatchel_audit WHERE seq > "+remaining)
		execute(t, db, "ALTER TABLE hatchel_audit ENABLE ALWAYS TRIGGER hatchel_audit_only_added")
		lost := m.head
		if !writeRemembered(t, address, m) || writeRemembered(t, address, m) {
			t.Errorf("the cut at %s is not found, or found twice", remaining)
		}
		if v := verified(t, address); v.Broken == nil || !strings.Contains(v.Broken.Reason, lost.Hash) {
			t.Errorf("verified: %v, without the lost %s", v, lost.Hash)
		}
	}
}

// Another process that shares the memory may have kept a newer head.
func TestAnOlderHeadIsNotKept(t *testing.T) {
	address, _ := postgrestest.Schema(t)
	m := &memory{}
	first, second := openTable(t, address), openTable(t, address)
	for _, l := range []*Table{first, second} {
		if cut, err := l.Remember(t.Context(), m); cut || err != nil {
			t.Fatal(cut, err)
		}
	}
	check(t, second.Append(call("x"), true))
	second.closeMemory(second)
	first.closeMemory(first)
	if m.head.Sequence != 3 {
		t.Errorf("remembers %v", m.head)
	}
}

func TestThePlaceOfATableIsThatOfEveryUser(t *testing.T) {
	address, db := postgrestest.Schema(t)
	var schema string
	check(t, db.QueryRow(t.Context(), "SELECT current_schema()").Scan(&schema))
	for _, user := range []string{"hatchel", "postgres"} {
		l := openTable(t, changed(t, address, func(u *url.URL, _ url.Values) { u.User = url.UserPassword(user, "s3cret") }))
		place, err := l.Place(t.Context())
		if err != nil || !strings.HasPrefix(place, "postgres ") || !strings.HasSuffix(place, " "+schema) ||
			strings.Contains(place, "s3cret") || strings.Contains(place, user+"@") {
			t.Error(place, err)
		}
	}
}
