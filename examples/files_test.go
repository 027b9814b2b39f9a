package examples_test

import (
	"slices"
	"strings"
	"testing"
)

func TestNotesAreListedReadAndWritten(t *testing.T) {
	t.Parallel()
	f := example(t, "files")
	s := f.serve()
	var names []string
	s.call("list_notes", object{}).into(t, &names)
	if want := []string{"hosts.csv", "todo.md"}; !slices.Equal(names, want) {
		t.Errorf("listed are %q", names)
	}
	expectText(t, s.call("read_note", object{"name": "todo.md"}), false, f.read("notes", "todo.md"))
	expectText(t, s.call("read_note", object{"name": "todo.md", "first": 3, "last": 4}), false,
		"- renew the certificate of the gateway before 2026-12-01\n- rotate the token of the shop\n")

	expectText(t, s.call("write_note", object{"name": "plan.md", "content": "one\n"}), false, "Written: plan.md")
	expectText(t, s.call("write_note", object{"name": "plan.md", "content": "two\n"}), true, "file exists: notes/plan.md")
	if got := f.read("notes", "plan.md"); got != "one\n" {
		t.Errorf("the refused call has left %q", got)
	}
	expectText(t, s.call("write_note", object{"name": "plan.md", "content": "two\n", "replace": true}), false, "Written: plan.md")
	expectText(t, s.call("add_to_note", object{"name": "plan.md", "lines": []string{"three", "four"}}), false, "2 lines added to plan.md")
	if got := f.read("notes", "plan.md"); got != "two\nthree\nfour\n" {
		t.Errorf("the note reads %q", got)
	}
	var table struct {
		Rows  []struct{ Host, Owner, Disk string }
		Count int
	}
	s.call("read_table", object{"name": "hosts.csv"}).into(t, &table)
	if table.Count != 2 || len(table.Rows) != 2 || table.Rows[1].Host != "ledger" || table.Rows[1].Disk != "35%" {
		t.Errorf("the table reads %+v", table)
	}
}

func TestNothingOutsideTheFolderOfNotesIsRead(t *testing.T) {
	t.Parallel()
	f := example(t, "files")
	f.link("/etc", "notes/etc")
	f.link("../files.hcl", "notes/tools.md")
	s := f.serve()
	for _, name := range []string{"../files.hcl", "/etc/passwd", "etc/passwd", "tools.md", "none.md", ".", "x/../../files.hcl"} {
		r := s.call("read_note", object{"name": name})
		if !r.Failed || r.text() == "" || strings.Contains(r.text(), "root:") || strings.Contains(r.text(), "tool \"") {
			t.Errorf("%s reads %q", name, r.text())
		}
	}
}
