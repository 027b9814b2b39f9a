package audit

import (
	"bytes"
	"os"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

// row is a row of the table.
type row struct {
	sequence int64
	time     time.Time
	hash     string
	line     []byte
}

func scanRow(from pgx.Row) (r row, err error) {
	err = from.Scan(&r.sequence, &r.time, &r.hash, &r.line)
	return r, err
}

// isConsistent reports whether the line matches its hash and the other columns.
func (r *row) isConsistent() bool {
	_, head, ok := parseLine(r.line)
	_, members, _ := bytes.Cut(r.line, []byte{','})
	return ok && head.sequence == r.sequence && string(head.hash[:]) == r.hash &&
		timeOf(members) == r.time.UTC().Format(timeFormat)
}

// rowBatch is the rows of one transaction.
type rowBatch struct {
	head      chainHead // of the last row
	sequences []int64
	times     []string
	hashes    []string
	lines     []string
}

// encodeRows returns the rows of a batch. In the first batch of a process the record that it writes
// comes first.
func (t *Table) encodeRows(head chainHead, b *batch) *rowBatch {
	rows := &rowBatch{head: head}
	if !t.opened {
		opened := &Record{Time: time.Now(), Event: EventOpened, File: tableName, Process: os.Getpid(), Host: hostName()}
		rows.add(opened.append(nil))
	}
	from := 0
	for _, to := range b.ends {
		rows.add(b.members[from:to])
		from = to
	}
	return rows
}

func (b *rowBatch) add(members []byte) {
	if !utf8.Valid(members) { // the database accepts nothing else
		members = bytes.ToValidUTF8(members, []byte("\uFFFD"))
	}
	line, head := b.head.link(nil, members)
	b.head = head
	b.sequences = append(b.sequences, head.sequence)
	b.times = append(b.times, timeOf(members))
	b.hashes = append(b.hashes, string(head.hash[:]))
	b.lines = append(b.lines, string(line[:len(line)-1]))
}

// timeOf returns the time of a record, which is its first member.
func timeOf(members []byte) string {
	rest, _ := bytes.CutPrefix(members, []byte(`"time":"`))
	text, _, _ := bytes.Cut(rest, []byte{'"'})
	return string(text)
}
