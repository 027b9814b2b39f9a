package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Verdict is the result of a verification.
type Verdict struct {
	Files     int
	Table     bool // the log is in a table, not in files
	Records   int64
	First     int64  // sequence of the first record; above 1 when older files were removed
	Last      int64  // sequence of the last record
	Hash      string // of the last record
	Repairs   int    // partial tails, as after a crash, that a later record describes
	OpenCalls int    // calls with an intent and without an end: in progress, or interrupted by a crash
	Partial   bool   // the last line is incomplete: it is being written, or the process has died

	Broken *Break // nil when the chain is intact
}

// Break is the first line at which a chain is broken.
type Break struct {
	File   string
	Line   int
	Reason string
}

// String returns the place and the reason.
func (b *Break) String() string { return fmt.Sprintf("%s:%d: %s", b.File, b.Line, b.Reason) }

// Verify reads a whole log, and compares every record with its hash and with the record before it, and
// the columns of a row with its line. The error is about what cannot be read, or has a newer format.
func Verify(ctx context.Context, log Source) (*Verdict, error) {
	v := &verifier{open: map[string]bool{}}
	_, v.Table = log.(Database)
	err := log.Read(ctx, v.line)
	return v.verdict(), cmp.Or(v.err, err)
}

// verifier verifies a log line by line.
type verifier struct {
	Verdict
	head   chainHead
	stream bool            // the chain starts again with every process
	open   map[string]bool // IDs of calls without an end
	file   string

	err error // the format is not supported

	tail      *partialTail // lines since the last record that are not records; nil when there are none
	tailStart *Break       // the first of them
	tailOpen  bool         // the last of them lacks its line break
	tailEnd   int          // number of the last of them
}

// verdict returns the result when all lines were read.
func (v *verifier) verdict() *Verdict {
	if v.tailStart != nil && v.Broken == nil {
		if v.tailOpen && v.tailStart.Line == v.tailEnd {
			v.Partial = true
		} else {
			v.Broken = v.tailStart
		}
	}
	v.OpenCalls = len(v.open)
	return &v.Verdict
}

// line verifies a line. It reports false when the chain is broken.
func (v *verifier) line(l *Line) bool {
	if l.File != v.file {
		v.file = l.File
		v.Files++
	}
	var r Record
	before, head, ok := parseLine(l.Text)
	if !ok || l.mismatch || json.Unmarshal(l.Text, &r) != nil {
		v.addTail(l)
		return true
	}
	if v.err = r.CheckFormat(); v.err != nil {
		return false
	}
	isFirst := v.Records == 0
	if isFirst && before.sequence == 0 {
		v.stream = r.Event == EventOpened && r.File == ""
	}
	if v.Broken = v.checkLink(l, &r, before); v.Broken != nil {
		return false
	}
	if r.Event == EventCut {
		const format = "the records before this one were removed, up to one with the hash %s"
		v.Broken = &Break{l.File, l.Number, fmt.Sprintf(format, r.LostDigest)}
		return false
	}
	if v.tail != nil {
		v.tail, v.tailStart = nil, nil
		v.Repairs++
	}
	if isFirst {
		v.First = head.sequence
	}
	v.head, v.Last, v.Hash = head, head.sequence, string(head.hash[:])
	v.Records++
	v.trackCall(&r)
	return true
}

// checkLink returns why a record cannot follow the one before it.
func (v *verifier) checkLink(l *Line, r *Record, before chainHead) *Break {
	isFirst := v.Records == 0
	restarts := v.stream && before == chainHead{hash: genesis} && r.Event == EventOpened
	startsFile := r.Event == EventRotated || r.Event == EventOpened
	switch {
	case isFirst && before.sequence == 0 && before.hash != genesis:
		return &Break{l.File, l.Number, "the first record does not start a chain"}
	case !v.Table && isFirst && before.sequence > 0 && v.tail == nil && !startsFile:
		const format = "record %d cannot be the first of a file: the records before it are missing"
		reason := fmt.Sprintf(format, before.sequence+1)
		return &Break{l.File, l.Number, reason}
	case !isFirst && !restarts && before != v.head:
		return v.gap(l, before)
	case v.tail != nil && (r.Event != EventRepaired || r.LostBytes != v.tail.bytes || r.LostDigest != v.tail.digest()):
		return v.tailStart // the record does not say that the lines before it are not records
	}
	return nil
}

// addTail adds a line that is not a record. It may be what was written last before a crash; then the
// next record describes it.
func (v *verifier) addTail(l *Line) {
	if v.tail == nil {
		v.tail = newPartialTail()
		v.tailStart = &Break{l.File, l.Number, "this is not a record, or it was changed: it does not match its hash"}
	} else {
		v.tail.Write([]byte{'\n'})
	}
	v.tail.Write(l.Text)
	v.tailOpen, v.tailEnd = !l.Terminated, l.Number
}

// gap returns how the chain is broken before a record.
func (v *verifier) gap(l *Line, before chainHead) *Break {
	order := fmt.Sprintf("record %d follows record %d: ", before.sequence+1, v.head.sequence)
	switch {
	case v.tailStart != nil:
		return v.tailStart
	case before.sequence > v.head.sequence:
		return &Break{l.File, l.Number, order + "the records between them are missing"}
	case before.sequence < v.head.sequence:
		return &Break{l.File, l.Number, order + "it was moved"}
	}
	return &Break{l.File, l.Number, "the record before this one was changed: its hash is not the one in this record"}
}

// trackCall notes which calls have started and not ended.
func (v *verifier) trackCall(r *Record) {
	switch r.Event {
	case EventIntent:
		v.open[r.ID] = true
	case EventCall:
		delete(v.open, r.ID)
	}
}

// String returns the verdict as one sentence.
func (v *Verdict) String() string {
	if v.Broken != nil {
		return fmt.Sprintf("the chain is broken after %s, at %s", plural(v.Records, "record"), v.Broken)
	}
	if v.Records == 0 {
		return "there are no records"
	}
	var b strings.Builder
	where, older := plural(int64(v.Files), "file"), "files"
	if v.Table {
		where, older = "the table "+tableName, "records"
	}
	fmt.Fprintf(&b, "the chain holds: %s in %s, from %d to %d, whose hash is %s",
		plural(v.Records, "record"), where, v.First, v.Last, v.Hash)
	addIf := func(applies bool, fact string) {
		if applies {
			b.WriteString("; " + fact)
		}
	}
	addIf(v.First > 1, "older "+older+" were removed")
	addIf(v.Repairs > 0, plural(int64(v.Repairs), "partial record")+" at the end of a file, recorded as repaired")
	addIf(v.Partial, "the last line is incomplete")
	addIf(v.OpenCalls > 0, plural(int64(v.OpenCalls), "call")+" started and not ended")
	return b.String()
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
