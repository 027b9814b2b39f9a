package mcp

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzLinesAreReadCompletelyOrSkipped reads lines of a stream that arrives in pieces.
func FuzzLinesAreReadCompletelyOrSkipped(f *testing.F) {
	f.Add([]byte("{}\n\n[1]\r\n"), 10)
	f.Add([]byte(strings.Repeat("x", 100)+"\nshort\nno end"), 20)
	f.Add([]byte("exactly10!\nexactly 11!\n"), 10)
	f.Fuzz(func(t *testing.T, stream []byte, limit int) {
		limit = 1 + (limit&0xff)%64
		r := bufio.NewReaderSize(iotest.HalfReader(bytes.NewReader(stream)), 16)
		for rest := stream; ; {
			want, after, found := bytes.Cut(rest, []byte("\n"))
			if found {
				want = rest[:len(want)+1]
			}
			line := BorrowBuffer()
			refused, _, err := readLine(r, line, limit)
			tooLong := refused != nil
			switch {
			case tooLong != (len(want) > limit+1):
				t.Fatalf("%q is too long for %d: %t", want, limit, tooLong)
			case !tooLong && !bytes.Equal(line.B, want):
				t.Fatalf("%q was read as %q", want, line.B)
			case found != (err == nil) || err != nil && err != io.EOF:
				t.Fatalf("%q ended with %v", want, err)
			}
			line.Release()
			if !found {
				return
			}
			rest = after
		}
	})
}
