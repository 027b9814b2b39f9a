package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// digest is a SHA-256 as it is written.
type digest [2 * sha256.Size]byte

func digestOf(b []byte) (d digest) {
	sum := sha256.Sum256(b)
	hex.Encode(d[:], sum[:])
	return d
}

// genesis is what stands before the first record.
var genesis = digest(bytes.Repeat([]byte{'0'}, 2*sha256.Size))

// place is where a chain is: its last record.
type place struct {
	sequence int64
	hash     digest
}

// link appends the line that follows at, with its end, and returns where the chain is then.
func (at place) link(dst, members []byte) ([]byte, place) {
	from := len(dst)
	next := place{sequence: at.sequence + 1}
	dst = strconv.AppendInt(append(dst, `{"seq":`...), next.sequence, 10)
	dst = append(append(append(dst, ','), members...), `,"prev":"`...)
	dst = append(append(dst, at.hash[:]...), '"')
	next.hash = digestOf(dst[from:])
	return append(append(append(dst, `,"hash":"`...), next.hash[:]...), "\"}\n"...), next
}

const (
	hashed = len(`,"hash":"`) + len(digest{}) + len(`"}`) // bytes of a line that its hash is not of
	tail   = len(`,"prev":"`) + len(digest{}) + len(`"`) + hashed
)

// read takes a line, without its end, for a record: what comes before it, and where the chain is with it. It reports false when the line does not agree with its hash.
func read(line []byte) (before, at place, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"seq":`))
	comma := bytes.IndexByte(rest, ',')
	if !ok || comma < 0 || len(line) < tail {
		return before, at, false
	}
	n, err := strconv.ParseInt(string(rest[:comma]), 10, 64)
	if err != nil || n < 1 {
		return before, at, false
	}
	before.sequence, at.sequence = n-1, n
	end := line[len(line)-tail:]
	copy(before.hash[:], end[len(`,"prev":"`):])
	copy(at.hash[:], line[len(line)-len(digest{})-len(`"}`):])
	form := bytes.HasPrefix(end, []byte(`,"prev":"`)) && bytes.HasPrefix(line[len(line)-hashed:], []byte(`,"hash":"`)) && bytes.HasSuffix(line, []byte(`"}`))
	return before, at, form && digestOf(line[:len(line)-hashed]) == at.hash
}
