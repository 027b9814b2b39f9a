package http

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	nethttp "net/http"
	"strings"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl/value"
	"hatchel/internal/charset"
	"hatchel/internal/contentcoding"
	"hatchel/internal/cut"
)

// content is the body of a response with what its headers say of it.
type content struct {
	raw         []byte
	contentType string
	coding      string // the content codings that were not decoded; empty for none
	cut         bool   // there are more lines than max_rows
}

// codingFailure returns the failure of a body that cannot be read because of its coding; nil if that is not the reason.
func (c *content) codingFailure() *failure {
	if c.coding == "" {
		return nil
	}
	return newPermanentFailure("the service's response has "+contentcoding.Unsupported(c.coding), nil)
}

// msgUnknownCharset is the message for a text in an encoding that is not known.
const msgUnknownCharset = "the service's response is text in %s, which is not supported; the tool must name the " +
	`encoding that it is in, such as encoding = "windows-1252", or use as = "bytes"`

// decodeCharset makes UTF-8 of a text that is in another encoding, and removes its byte order mark.
func (a *action) decodeCharset(c *content) *failure {
	if a.block.As == asBytes || len(c.raw) == 0 {
		return nil
	}
	e, known := a.encodingOf(c)
	if !known {
		name := cut.Runes(charset.OfContentType(c.contentType), 40)
		return newPermanentFailure(fmt.Sprintf(msgUnknownCharset, name), nil)
	}
	if _, mark := charset.Detect(c.raw, e); e == nil && mark == 0 && utf8.Valid(c.raw) {
		return nil
	}
	text, err := charset.Decode(c.raw, e)
	if bad := new(charset.Error); errors.As(err, &bad) {
		message := fmt.Sprintf("the service's response is %v; the tool must %s", bad, charset.Advice(c.raw, bad))
		return cmp.Or(c.codingFailure(), newPermanentFailure(message, err))
	}
	c.raw = []byte(text)
	return nil
}

// encodingOf returns the encoding of a text: that of its byte order mark, else that of the argument, else that of the
// Content-Type, unless the text is JSON in Unicode, which RFC 8259 demands.
func (a *action) encodingOf(c *content) (e *charset.Encoding, known bool) {
	if e, mark := charset.Detect(c.raw, nil); mark > 0 {
		return e, true
	}
	if a.block.Encoding != "" {
		return charset.Find(a.block.Encoding)
	}
	isJSON, name := a.block.As != asText, strings.ToLower(charset.OfContentType(c.contentType))
	switch {
	case isJSON && len(c.raw) > 1 && (c.raw[0] == 0 || c.raw[1] == 0):
		return detectUnicode(c.raw)
	case name == "":
		return nil, true
	case name == "utf-16" && c.raw[0] == 0: // in a Latin text, the first byte tells which end is first
		return charset.Find("utf-16be")
	}
	if e, known = charset.Find(name); e == nil && known {
		return nil, true
	}
	if (isJSON && keepsASCII(e) || name == "us-ascii") && utf8.Valid(c.raw) {
		return nil, true
	}
	return e, known
}

// keepsASCII reports whether a text in ASCII reads the same in an encoding. One that is not known, nil, is taken for
// one in which it does.
func keepsASCII(e *charset.Encoding) bool {
	const ascii = "\x1b$B~{\\A"
	raw, ok := charset.Encode(ascii, e)
	return ok && string(raw) == ascii
}

// detectUnicode returns the encoding of a JSON text by the zeros in its first character (RFC 4627, section 3).
func detectUnicode(raw []byte) (*charset.Encoding, bool) {
	name := "utf-16le"
	switch {
	case raw[0] == 0 && raw[1] == 0:
		name = "utf-32be"
	case raw[0] == 0:
		name = "utf-16be"
	case len(raw) >= 4 && raw[2] == 0 && raw[3] == 0:
		name = "utf-32le"
	}
	return charset.Find(name)
}

// decode converts a body as the author has declared. A body in an unknown coding may be what it seems to be, because
// some services name codings that they do not use.
func (a *action) decode(ctx context.Context, c *content, r *compiledRequest) (any, *failure) {
	if a.method == nethttp.MethodHead {
		return nil, nil
	}
	switch a.block.As {
	case asBytes:
		if failed := c.codingFailure(); failed != nil {
			return nil, failed
		}
		return value.Bytes(c.raw), nil
	case asText:
		return string(c.raw), nil
	}
	document, failed := a.readDocument(c, r)
	if failed != nil {
		return nil, cmp.Or(c.codingFailure(), failed)
	}
	if a.response == nil {
		if len(document) == 0 {
			return nil, nil
		}
		return &jsonDocument{raw: document}, nil
	}
	var v any
	if len(document) > 0 {
		var err error
		if v, err = decodeJSON(document); err != nil {
			return nil, newPermanentFailure(err.Error(), err)
		}
	}
	return a.checkResponse(ctx, v)
}

// readDocument returns a body as compact JSON; empty if it has none.
func (a *action) readDocument(c *content, r *compiledRequest) ([]byte, *failure) {
	if a.block.As == asJSONLines {
		return a.readLines(c, r)
	}
	text, replaced, err := value.Compact(c.raw)
	r.call.CountReplaced(replaced)
	if err != nil {
		return nil, notJSONFailure(err, text, c.contentType, r)
	}
	return text, nil
}

// readLines returns a body with one JSON value in each line as one list. It skips empty lines, and the separators of
// JSON text sequences (RFC 7464).
func (a *action) readLines(c *content, r *compiledRequest) ([]byte, *failure) {
	list, rows, number, replaced := append(make([]byte, 0, len(c.raw)+2), '['), 0, 0, 0
	defer func() { r.call.CountReplaced(replaced) }()
	for line := range bytes.Lines(c.raw) {
		number++
		if line = bytes.Trim(line, " \t\r\n\x1e"); len(line) == 0 {
			continue
		}
		if rows == a.block.maxRows() {
			c.cut = true
			break
		}
		text, n, err := value.Compact(line)
		replaced += n
		if err != nil {
			failed := notJSONFailure(err, text, "", r)
			failed.Message = fmt.Sprintf("line %d of %s", number, failed.Message)
			return nil, failed
		}
		if rows++; rows > 1 {
			list = append(list, ',')
		}
		list = append(list, text...)
	}
	if c.cut {
		err := r.call.Truncate(adapters.Cut{
			Members: []string{"body"}, Limit: fmt.Sprintf("max_rows = %d", a.block.maxRows()), Argument: "max_rows",
			Seen: "there are more lines", Allowed: a.block.Truncate,
		})
		if fault := new(adapters.Fault); errors.As(err, &fault) {
			return nil, &failure{Fault: *fault, permanent: true}
		}
	}
	return append(list, ']'), nil
}
