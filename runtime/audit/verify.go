package audit

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Verdict is what the records of a log are as a chain.
type Verdict struct {
	Files   int
	Table   bool // instead of files
	Records int64
	First   int64  // sequence of the first record; 1 unless files before it were removed
	Last    int64  // sequence of the last
	Hash    string // of the last
	Repairs int    // ends of files that were no record, as after a crash, and that were written down as such
	Open    int    // calls that have begun and have no end: the process ended first, or they are under way
	Partial bool   // the last line lacks its end: it is being written, or its process has died

	Broken *Break // nil when the chain holds
}

// Break is the first line at which a chain is broken.
type Break struct {
	File string
	Line int
	Why  string
}

func (b *Break) String() string { return fmt.Sprintf("%s:%d: %s", b.File, b.Line, b.Why) }

// Verify reads all files of a log, and compares every record with its hash and with the record before it. The error is of what cannot be read.
func Verify(path string) (*Verdict, error) {
	v := &verifier{open: map[string]bool{}}
	err := Read(path, v.line)
	return v.verdict(), err
}

// verdict is what has come out when all was read.
func (v *verifier) verdict() *Verdict {
	if v.lost != nil && v.Broken == nil {
		if v.partial && v.lost.Line == v.number {
			v.Partial = true
		} else {
			v.Broken = v.lost
		}
	}
	v.Open = len(v.open)
	return &v.Verdict
}

type verifier struct {
	Verdict
	at     place
	stream bool // the chain begins anew with every process
	open   map[string]bool
	file   string

	torn    *torn  // lines since the last record
	lost    *Break // the first of them
	partial bool   // the last of them lacks its end
	number  int    // the number of the last of them
}

func (v *verifier) line(l *Line) bool {
	if l.File != v.file {
		v.file = l.File
		v.Files++
	}
	var r Record
	before, at, ok := read(l.Text)
	if !ok || l.apart || json.Unmarshal(l.Text, &r) != nil {
		v.loses(l)
		return true
	}
	starts := v.Records == 0
	if starts && before.sequence == 0 {
		v.stream = r.Event == EventOpened && r.File == ""
	}
	again := v.stream && before == place{hash: genesis} && r.Event == EventOpened
	switch {
	case starts && before.sequence == 0 && before.hash != genesis:
		v.Broken = &Break{l.File, l.Number, "the first record does not begin a chain"}
	case !v.Table && starts && before.sequence > 0 && v.torn == nil && r.Event != EventRotated && r.Event != EventOpened:
		v.Broken = &Break{l.File, l.Number, fmt.Sprintf("no file begins with record %d: what was before it is missing", at.sequence)}
	case !starts && !again && before != v.at:
		v.Broken = v.gap(l, before)
	case v.torn != nil && !v.repaired(&r):
		v.Broken = v.lost
	}
	if v.Broken != nil {
		return false
	}
	if v.torn != nil {
		v.torn, v.lost = nil, nil
		v.Repairs++
	}
	if starts {
		v.First = at.sequence
	}
	v.at, v.Last, v.Hash = at, at.sequence, string(at.hash[:])
	v.Records++
	v.calls(&r)
	return true
}

// loses takes a line that is no record. It may be the end of what was written when the process died; then the next record says so.
func (v *verifier) loses(l *Line) {
	if v.torn == nil {
		v.torn = newTorn()
		v.lost = &Break{l.File, l.Number, "this is no record, or it was changed: it does not agree with its hash"}
	} else {
		v.torn.Write([]byte{'\n'})
	}
	v.torn.Write(l.Text)
	v.partial, v.number = !l.Ended, l.Number
}

// repaired reports whether a record says of the lines before it that they are none.
func (v *verifier) repaired(r *Record) bool {
	return r.Event == EventRepaired && r.Lost == v.torn.bytes && r.LostSum == v.torn.digest()
}

// gap says why a record cannot follow the one before it.
func (v *verifier) gap(l *Line, before place) *Break {
	switch {
	case v.lost != nil:
		return v.lost
	case before.sequence > v.at.sequence:
		return &Break{l.File, l.Number, fmt.Sprintf("record %d follows record %d: what was between them is missing", before.sequence+1, v.at.sequence)}
	case before.sequence < v.at.sequence:
		return &Break{l.File, l.Number, fmt.Sprintf("record %d follows record %d: it is not where it was written", before.sequence+1, v.at.sequence)}
	}
	return &Break{l.File, l.Number, "the record before this one was changed: its hash is not the one that this one holds"}
}

// calls notes which calls have begun and not ended.
func (v *verifier) calls(r *Record) {
	switch r.Event {
	case EventIntent:
		v.open[r.ID] = true
	case EventCall:
		delete(v.open, r.ID)
	}
}

// String is the verdict in one sentence.
func (v *Verdict) String() string {
	var b strings.Builder
	if v.Broken != nil {
		fmt.Fprintf(&b, "the chain is broken after %s, at %s", counted(v.Records, "record"), v.Broken)
		return b.String()
	}
	if v.Records == 0 {
		return "there are no records"
	}
	where, before := counted(int64(v.Files), "file"), "files"
	if v.Table {
		where, before = "the table "+table, "records"
	}
	fmt.Fprintf(&b, "the chain holds: %s in %s, from %d to %d, whose hash is %s", counted(v.Records, "record"), where, v.First, v.Last, v.Hash)
	if v.First > 1 {
		b.WriteString("; the " + before + " before are not here")
	}
	if v.Repairs > 0 {
		fmt.Fprintf(&b, "; %s of a file was no whole record, and was written down as that", counted(int64(v.Repairs), "end"))
	}
	if v.Partial {
		b.WriteString("; the last line is not whole")
	}
	if v.Open > 0 {
		fmt.Fprintf(&b, "; %s begun and not ended", counted(int64(v.Open), "call"))
	}
	return b.String()
}

func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
