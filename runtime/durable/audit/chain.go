package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// hexDigest is a SHA-256 digest in hexadecimal digits.
type hexDigest [2 * sha256.Size]byte

func digestOf(b []byte) (d hexDigest) {
	sum := sha256.Sum256(b)
	hex.Encode(d[:], sum[:])
	return d
}

// genesis is the previous hash of the first record.
var genesis = hexDigest(bytes.Repeat([]byte{'0'}, 2*sha256.Size))

// chainHead identifies the last record of a chain.
type chainHead struct {
	sequence int64
	hash     hexDigest
}

// link appends the line of the record after h, with its line break, and returns the new head.
func (h chainHead) link(dst, members []byte) ([]byte, chainHead) {
	from := len(dst)
	next := chainHead{sequence: h.sequence + 1}
	dst = strconv.AppendInt(append(dst, `{"seq":`...), next.sequence, 10)
	dst = append(append(append(dst, ','), members...), `,"prev":"`...)
	dst = append(append(dst, h.hash[:]...), '"')
	next.hash = digestOf(dst[from:])
	return append(append(append(dst, `,"hash":"`...), next.hash[:]...), "\"}\n"...), next
}

// Lengths of the end of a line: of the part that the hash does not cover, and of the part from the
// member prev on.
const (
	unhashedLength = len(`,"hash":"`) + len(hexDigest{}) + len(`"}`)
	endLength      = len(`,"prev":"`) + len(hexDigest{}) + len(`"`) + unhashedLength
)

// parseLine parses a line without its line break. It returns the heads of the chain before and
// after the record, and reports false when the line does not match its hash.
func parseLine(line []byte) (before, after chainHead, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"seq":`))
	comma := bytes.IndexByte(rest, ',')
	if !ok || comma < 0 || len(line) < endLength {
		return before, after, false
	}
	n, err := strconv.ParseInt(string(rest[:comma]), 10, 64)
	if err != nil || n < 1 {
		return before, after, false
	}
	before.sequence, after.sequence = n-1, n
	end := line[len(line)-endLength:]
	copy(before.hash[:], end[len(`,"prev":"`):])
	copy(after.hash[:], line[len(line)-len(hexDigest{})-len(`"}`):])
	wellFormed := bytes.HasPrefix(end, []byte(`,"prev":"`)) && bytes.HasSuffix(line, []byte(`"}`)) &&
		bytes.HasPrefix(line[len(line)-unhashedLength:], []byte(`,"hash":"`))
	return before, after, wellFormed && digestOf(line[:len(line)-unhashedLength]) == after.hash
}
