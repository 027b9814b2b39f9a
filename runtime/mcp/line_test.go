package mcp

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzLinesAreReadWholeOrNotAtAll reads frames of a stream that comes in pieces, as long lines, empty ones, and one without an end.
func FuzzLinesAreReadWholeOrNotAtAll(f *testing.F) {
	f.Add([]byte("{}\n\n[1]\r\n"), 10)
	f.Add([]byte(strings.Repeat("x", 100)+"\nshort\nno end"), 20)
	f.Add([]byte("exactly10!\nexactly 11!\n"), 10)
	f.Fuzz(func(t *testing.T, stream []byte, most int) {
		most = 1 + (most&0xff)%64
		r := bufio.NewReaderSize(iotest.HalfReader(bytes.NewReader(stream)), 16)
		for rest := stream; ; {
			want, after, found := bytes.Cut(rest, []byte("\n"))
			if found {
				want = rest[:len(want)+1]
			}
			line := borrowBuffer()
			tooLong, err := readLine(r, line, most)
			switch {
			case tooLong != (len(want) > most+1):
				t.Fatalf("%q is too long for %d: %t", want, most, tooLong)
			case !tooLong && !bytes.Equal(line.b, want):
				t.Fatalf("%q was read as %q", want, line.b)
			case found != (err == nil) || err != nil && err != io.EOF:
				t.Fatalf("%q ended with %v", want, err)
			}
			line.release()
			if !found {
				return
			}
			rest = after
		}
	})
}
