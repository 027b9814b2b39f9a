package legacy

import (
	"hatchel/runtime/edge/mcp"
)

import "testing"

// Of all texts only the id itself opens, and only for its toolset and its owner. A fuzzed text
// replaces a part of the id.
func FuzzSessionIDIsTheOneThatWasGivenOutOrRefused(f *testing.F) {
	s := newServer(mcp.New(nil, mcp.Options{}), Options{})
	ada := &mcp.Identity{Key: "key", Subject: "ada"}
	sess := &session{owner: ada, peer: peer{toolset: "notes", revision: mcp.Revision20251125, info: []byte(`{"name":"c"}`)}}
	if err := s.table.newID(f.Context(), sess); err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{"", "A", "=", "\n", "_", "AQ", "+/"} {
		for _, at := range []int{0, 1, 18, len(sess.id) - 1, len(sess.id)} {
			f.Add(at, at, text, "notes", "key", "ada")
			f.Add(at, at+1, text, "notes", "key", "ada")
		}
	}
	f.Add(0, 0, "", "", "key", "ada")
	f.Add(0, 0, "", "notes", "key\nada", "")
	f.Add(0, 0, "", "notes\nkey", "ada", "")
	f.Fuzz(func(t *testing.T, from, to int, text, toolset, key, subject string) {
		from = min(max(from, 0), len(sess.id))
		to = min(max(to, from), len(sess.id))
		id, caller := sess.id[:from]+text+sess.id[to:], &mcp.Identity{Key: key, Subject: subject}
		found, _ := s.table.openID(id, toolset, caller)
		same := id == sess.id && sessionUse(toolset, caller) == sessionUse("notes", ada)
		switch {
		case (found != nil) != same:
			t.Fatalf("%q in %q for %q, %q: found %v", id, toolset, key, subject, found != nil)
		case same && (found.name != sess.name || string(found.info) != string(sess.info)):
			t.Fatalf("found another session")
		}
	})
}
