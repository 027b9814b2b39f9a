package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"time"
)

// torn is the end of a file that is no whole record.
type torn struct {
	sum   hash.Hash
	bytes int64
}

func newTorn() *torn { return &torn{sum: sha256.New()} }

func (t *torn) Write(p []byte) (int, error) {
	t.bytes += int64(len(p))
	return t.sum.Write(p)
}

func (t *torn) digest() string { return hex.EncodeToString(t.sum.Sum(nil)) }

// write writes a batch behind what the file holds, and before it what there is to say of the file itself. Lines that came into the file whole are records, whatever became of
// those after them.
func (l *Log) write(b *batch) {
	out, ends, places := l.lines(b)
	own := len(ends) - len(b.ends)
	n, err := l.sink().Write(out)
	l.size += int64(n)
	whole := 0
	for whole < len(ends) && ends[whole]-1 <= n {
		whole++
	}
	switch {
	case whole > 0:
		l.at, l.torn, l.notice, l.unended = places[whole-1], nil, nil, ends[whole-1] > n
		l.written.Store(l.at.sequence)
		l.tear(out[min(ends[whole-1], n):n])
	case l.unended && n > 0:
		l.unended = false
		l.tear(out[1:n])
	default:
		l.tear(out[:n])
	}
	b.whole, b.err = max(whole-own, 0), err
	b.first = l.at.sequence - int64(b.whole) + 1
	l.out, l.ends, l.places = keep(out), ends, places
}

// lines are what is to be written: where each ends, and where the chain is with it.
func (l *Log) lines(b *batch) (out []byte, ends []int, places []place) {
	out, ends, places = l.out[:0], l.ends[:0], l.places[:0]
	if l.unended || l.torn != nil {
		out = append(out, '\n')
	}
	own := l.notice
	if l.torn != nil {
		own = &Record{Time: time.Now(), Event: EventRepaired, Lost: l.torn.bytes, LostSum: l.torn.digest()}
	}
	at := l.at
	if own != nil {
		out, at = at.link(out, own.append(nil))
		ends, places = append(ends, len(out)), append(places, at)
	}
	from := 0
	for _, to := range b.ends {
		out, at = at.link(out, b.members[from:to])
		ends, places = append(ends, len(out)), append(places, at)
		from = to
	}
	return out, ends, places
}

// tear notes that the file ends with something that is no record.
func (l *Log) tear(end []byte) {
	if len(end) == 0 {
		return
	}
	if l.torn == nil {
		l.torn = newTorn()
	}
	l.torn.Write(end)
}

func (l *Log) sink() io.Writer {
	if l.stream != nil {
		return l.stream
	}
	return l.file
}

// keep is a buffer for the next time, unless it is huge.
func keep(b []byte) []byte {
	if cap(b) > 1<<20 {
		return nil
	}
	return b
}
