package charset

import (
	"bytes"
	"io"
	"unicode/utf8"

	"golang.org/x/text/transform"
)

// Reader decodes a stream. It is not safe for concurrent use.
type Reader struct {
	LineEnd byte // what ends a line; by default a line feed

	src     io.Reader
	e       *Encoding
	decoder transform.Transformer // nil for UTF-8
	started bool                  // the byte order mark was read
	marked  bool                  // there is a byte order mark
	err     error                 // of src

	raw    []byte // what was read and is not decoded
	offset int64  // of raw in the stream
	line   int    // at the end of text, counted from 0

	text   []byte // what was decoded and is not returned
	faults []Fault
}

// Fault is a place of a decoded text that has U+FFFD for what is not in its encoding.
type Fault struct {
	At  int // the position of U+FFFD
	Err *Error
}

// chunk is how much is read and decoded at once.
const chunk = 32 << 10

// NewReader returns a reader of a stream in an encoding, unless its byte order mark names another one.
func NewReader(src io.Reader, declared *Encoding) *Reader {
	return &Reader{LineEnd: '\n', src: src, e: declared}
}

// newPartReader returns a reader of a text that has no byte order mark.
func newPartReader(raw []byte, e *Encoding) *Reader {
	r := NewReader(bytes.NewReader(raw), e)
	r.start(e, 0)
	return r
}

// start begins to decode after a byte order mark of a size.
func (r *Reader) start(e *Encoding, mark int) {
	r.started, r.marked, r.e, r.offset = true, mark > 0, e, int64(mark)
	if e != nil {
		r.decoder = e.enc.NewDecoder()
	}
}

// Encoding returns the encoding of the stream. It is the declared one before the first call of ReadLine.
func (r *Reader) Encoding() *Encoding { return r.e }

// ReadLine returns the next part of the text, as UTF-8: a line with its end, or less of a long line and of the
// last one. The text is valid until the next call. The error is that of the stream, and io.EOF after the last part.
func (r *Reader) ReadLine() (text []byte, faults []Fault, err error) {
	for len(r.text) == 0 && r.err == nil {
		r.fill()
	}
	if len(r.text) == 0 {
		return nil, nil, r.err
	}
	end := len(r.text)
	if i := bytes.IndexByte(r.text, r.LineEnd); i >= 0 {
		end = i + 1
	}
	text, r.text = r.text[:end], r.text[end:]
	n := 0
	for n < len(r.faults) && r.faults[n].At < end {
		n++
	}
	faults, r.faults = r.faults[:n:n], r.faults[n:]
	for i := range r.faults {
		r.faults[i].At -= end
	}
	return text, faults, nil
}

// readAll reads a stream that does not fail.
func (r *Reader) readAll() (string, []Fault) {
	var text []byte
	var faults []Fault
	for {
		part, bad, err := r.ReadLine()
		for _, f := range bad {
			faults = append(faults, Fault{len(text) + f.At, f.Err})
		}
		if text = append(text, part...); err != nil {
			return string(text), faults
		}
	}
}

// fill reads a chunk and decodes what is complete of it.
func (r *Reader) fill() {
	buf := make([]byte, chunk)
	n, err := io.ReadFull(r.src, buf[copy(buf, r.raw):])
	r.raw = buf[:len(r.raw)+n]
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	if r.err = err; err != nil && err != io.EOF {
		return
	}
	if !r.started {
		e, mark := Detect(r.raw, r.e)
		r.raw = r.raw[mark:]
		r.start(e, mark)
	}
	r.text, r.faults = r.text[:0], nil
	if r.decoder == nil {
		r.decodeUTF8()
	} else {
		r.decode()
	}
}

// take removes what was decoded.
func (r *Reader) take(n int) {
	r.raw, r.offset = r.raw[n:], r.offset+int64(n)
}

// fail appends U+FFFD for bytes at a position of raw.
func (r *Reader) fail(at, size int) {
	line := 1 + r.line + bytes.Count(r.text, []byte{r.LineEnd})
	found := bytes.Clone(r.raw[at : at+size])
	r.faults = append(r.faults, Fault{len(r.text), &Error{r.e, found, r.offset + int64(at), line, r.marked}})
	r.text = append(r.text, "\uFFFD"...)
}

func (r *Reader) decodeUTF8() {
	end := len(r.raw)
	if r.err == nil { // a character at the end may continue
		for at := max(0, end-utf8.UTFMax+1); at < end; at++ {
			if utf8.RuneStart(r.raw[at]) && !utf8.FullRune(r.raw[at:]) {
				end = at
			}
		}
	}
	if utf8.Valid(r.raw[:end]) {
		r.text = r.raw[:end:end]
	} else {
		r.text = make([]byte, 0, 2*end)
		for at := 0; at < end; {
			_, size := utf8.DecodeRune(r.raw[at:end])
			if c := r.raw[at]; size == 1 && c >= utf8.RuneSelf {
				r.fail(at, 1)
			} else {
				r.text = append(r.text, r.raw[at:at+size]...)
			}
			at += size
		}
	}
	r.finish(end)
}

// finish counts the lines of a decoded chunk.
func (r *Reader) finish(n int) {
	r.line += bytes.Count(r.text, []byte{r.LineEnd})
	r.take(n)
}

// decode decodes a chunk of another encoding than UTF-8.
func (r *Reader) decode() {
	end := len(r.raw)
	if i := bytes.LastIndexByte(r.raw, '\n'); r.err == nil && r.e.unit() == 1 && i >= 0 {
		end = i + 1 // where encodings with states are in their first one
	}
	decoded := make([]byte, 4*end+utf8.UTFMax)
	n, taken, err := r.decoder.Transform(decoded, r.raw[:end], r.err != nil)
	decoded = decoded[:n]
	if err != nil && err != transform.ErrShortSrc || r.err != nil && taken < end { // no decoder does this
		decoded, taken = append(decoded, "\uFFFD"...), end
	}
	r.text = make([]byte, 0, len(decoded))
	probe := r.e.enc.NewDecoder()
	scratch := make([]byte, len(decoded))
	from := 0 // of raw, decoded by probe
	for {
		i := bytes.Index(decoded, []byte("\uFFFD"))
		if i < 0 {
			break
		}
		at := from + advance(probe, scratch, r.raw[from:end], i)
		size := max(advance(probe, scratch, r.raw[at:end], len("\uFFFD")), 1)
		size = min(size, end-at)
		r.text = append(r.text, decoded[:i]...)
		if bytes.Equal(r.raw[at:at+size], r.e.replacement) {
			r.text = append(r.text, "\uFFFD"...)
		} else {
			r.fail(at, size)
		}
		decoded, from = decoded[i+len("\uFFFD"):], at+size
	}
	r.text = append(r.text, decoded...)
	r.finish(taken)
}

// advance returns how many bytes of src become n bytes of text.
func advance(decoder transform.Transformer, scratch, src []byte, n int) int {
	_, taken, _ := decoder.Transform(scratch[:n], src, true)
	return taken
}
