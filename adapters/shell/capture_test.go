package shell

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// writePieces writes data to a capture in pieces of at most piece bytes.
func writePieces(c *capture, data []byte, piece int) {
	for len(data) > 0 {
		n := copy(c.nextBuffer(), data[:min(piece, len(data))])
		c.add(n)
		data = data[n:]
	}
}

func TestCaptureKeepsHeadAndTail(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		limit, size := 1+random.IntN(50), random.IntN(200)
		data := make([]byte, size)
		for i := range data {
			data[i] = byte('a' + i%26)
		}
		c := newCapture(limit, nil)
		writePieces(c, data, 1+random.IntN(40))
		want := string(data)
		if size > limit {
			half := limit / 2
			want = fmt.Sprintf("%s\n[... %d bytes truncated ...]\n%s", data[:half], size-limit, data[size-(limit-half):])
		}
		if got, _ := c.text(nil); got != want {
			t.Fatalf("limit %d, %d bytes:\n%q\n%q", limit, size, got, want)
		}
		c.release()
	}
}

func TestCaptureStaysWithinItsLimit(t *testing.T) {
	c := newCapture(100_000, nil)
	writePieces(c, make([]byte, 5_000_000), 4096)
	if cap(c.buf) > 100_000 {
		t.Errorf("the buffer has %d bytes", cap(c.buf))
	}
	if c.omitted() != 4_900_000 {
		t.Errorf("%d bytes are counted as omitted", c.omitted())
	}
}

func TestTruncatedTextIsValidUTF8(t *testing.T) {
	data := []byte(strings.Repeat("aé日🙂", 500))
	for limit := 20; limit < 60; limit++ {
		c := newCapture(limit, nil)
		writePieces(c, data, 7)
		text, _ := c.text(nil)
		if !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
			t.Fatalf("limit %d: %q", limit, text)
		}
		var gone int
		at := strings.Index(text, "[...")
		if _, err := fmt.Sscanf(text[at:], "[... %d bytes", &gone); err != nil {
			t.Fatal(err)
		}
		kept := strings.Replace(text, fmt.Sprintf("\n[... %d bytes truncated ...]\n", gone), "", 1)
		if len(kept)+gone != len(data) {
			t.Errorf("limit %d: %d kept and %d cut are not %d", limit, len(kept), gone, len(data))
		}
	}
}

func TestInvalidUTF8IsShown(t *testing.T) {
	c := newCapture(100, nil)
	writePieces(c, []byte("a\xff\xfeb\x00é"), 3)
	if got, bad := c.text(nil); got != "a<0xFF><0xFE>b\x00é" || bad == nil || bad.Offset != 1 {
		t.Errorf("%q, %v", got, bad)
	}
	if !bytes.Equal(c.buf, []byte("a\xff\xfeb\x00é")) {
		t.Error("the bytes themselves were changed")
	}
}

// TestTruncationKeepsNoPartOfASecret: a secret that is cut in two is not found when secrets are removed later, so neither
// part of it may be kept.
func TestTruncationKeepsNoPartOfASecret(t *testing.T) {
	const secret = "zK7#qP2!mW9$xR4%"
	for _, handed := range []string{secret, "Bearer " + secret, secret + ", for the shop"} {
		for before := range 120 {
			c := newCapture(64, nil)
			writePieces(c, []byte(strings.Repeat("a", before)+secret+strings.Repeat("b", 150-before)), 7)
			text, _ := c.text([]string{handed})
			text = strings.ReplaceAll(text, secret, "")
			for at := range len(secret) - 3 {
				if part := secret[at : at+4]; strings.Contains(text, part) {
					t.Fatalf("%q after %d bytes: %q", handed, before, text)
				}
			}
		}
	}
}
