package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"time"
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
	out, ends, heads := l.encodeBatch(b)
	own := len(ends) - len(b.ends)
	n, err := l.sink().Write(out)
	l.size += int64(n)
	complete := 0
	for complete < len(ends) && ends[complete]-1 <= n {
		complete++
	}
	switch {
	case complete > 0:
		l.head, l.tail, l.ownRecord, l.unterminated = heads[complete-1], nil, nil, ends[complete-1] > n
		l.written.Store(l.head.sequence)
		l.addTail(out[min(ends[complete-1], n):n])
	case l.unterminated && n > 0:
		l.unterminated = false
		l.addTail(out[1:n])
	default:
		l.addTail(out[:n])
	}
	b.added, b.err = max(complete-own, 0), err
	b.first = l.head.sequence - int64(b.added) + 1
	l.out, l.ends, l.heads = out, ends, heads
	if cap(out) > maxReused {
		l.out = nil
	}
}

// encodeBatch returns the lines of a batch and of the log's own record, where each line ends, and the
// head of the chain after each line.
func (l *Log) encodeBatch(b *batch) (out []byte, ends []int, heads []chainHead) {
	out, ends, heads = l.out[:0], l.ends[:0], l.heads[:0]
	if l.unterminated || l.tail != nil {
		out = append(out, '\n')
	}
	own := l.ownRecord
	if l.tail != nil {
		own = &Record{Time: time.Now(), Event: EventRepaired, LostBytes: l.tail.bytes, LostDigest: l.tail.digest()}
	}
	head := l.head
	if own != nil {
		out, head = head.link(out, own.append(nil))
		ends, heads = append(ends, len(out)), append(heads, head)
	}
	from := 0
	for _, to := range b.ends {
		out, head = head.link(out, b.members[from:to])
		ends, heads = append(ends, len(out)), append(heads, head)
		from = to
	}
	return out, ends, heads
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
