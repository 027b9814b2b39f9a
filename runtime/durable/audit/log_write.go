package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
)

// partialTail is the end of a file that is not a record, such as a line that was interrupted.
type partialTail struct {
	sum   hash.Hash
	bytes int64
}

func newPartialTail() *partialTail { return &partialTail{sum: sha256.New()} }

func (t *partialTail) Write(p []byte) (int, error) {
	t.bytes += int64(len(p))
	return t.sum.Write(p)
}

func (t *partialTail) digest() string { return hex.EncodeToString(t.sum.Sum(nil)) }

// maxReused is the size up to which the buffer of a batch is kept for the next.
const maxReused = 1 << 20

// write appends a batch to the file, and before it what the log has to record about the file. Lines
// that are completely in the file are records, even if the write failed after them. The caller holds
// writing.
func (l *Log) write(b *batch) {
	out, ends := l.encodeBatch(b)
	own := len(ends) - len(b.ends)
	n, err := l.sink().Write(out)
	l.size += int64(n)
	complete := 0
	for complete < len(ends) && ends[complete].offset-1 <= n {
		complete++
	}
	switch {
	case complete > 0:
		last := ends[complete-1]
		l.head, l.tail, l.ownRecord, l.unterminated = last.head, nil, nil, last.offset > n
		l.written.Store(l.head.sequence)
		l.addTail(out[min(last.offset, n):n])
	case l.unterminated && n > 0:
		l.unterminated = false
		l.addTail(out[1:n])
	default:
		l.addTail(out[:n])
	}
	b.added, b.err = max(complete-own, 0), err
	b.first = l.head.sequence - int64(b.added) + 1
	if errors.Is(err, errNotRead) { // the chain continues after these records, which nobody may rely on
		b.added = 0
	}
	l.out, l.ends = out, ends
	if cap(out) > maxReused {
		l.out = nil
	}
}

// lineEnd is where a line of a batch ends.
type lineEnd struct {
	offset int
	head   chainHead // of the chain after the line
}

// encodeBatch returns the lines of a batch, and before them the log's own record.
func (l *Log) encodeBatch(b *batch) (out []byte, ends []lineEnd) {
	out, ends = l.out[:0], l.ends[:0]
	if l.unterminated || l.tail != nil {
		out = append(out, '\n')
	}
	head := l.head
	add := func(members []byte) {
		out, head = head.link(out, members)
		ends = append(ends, lineEnd{len(out), head})
	}
	own := l.ownRecord
	if l.tail != nil {
		own = NewRecord(EventRepaired, Common{})
		own.LostBytes, own.LostDigest = l.tail.bytes, l.tail.digest()
	}
	if own != nil {
		add(own.append(nil))
	}
	from := 0
	for _, to := range b.ends {
		add(b.members[from:to])
		from = to
	}
	return out, ends
}

// addTail adds bytes to the end of the file that is not a record.
func (l *Log) addTail(b []byte) {
	if len(b) == 0 {
		return
	}
	if l.tail == nil {
		l.tail = newPartialTail()
	}
	l.tail.Write(b)
}

func (l *Log) sink() io.Writer {
	if l.stream != nil {
		return l.stream
	}
	return l.file
}
