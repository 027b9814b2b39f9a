package mcp

import (
	"math"
	"net/http"
	"strconv"
	"strings"

	"hatchel/hcl/jsonscan"
	"hatchel/internal/mcpheader"
)

// The headers of the transport, in the canonical form of package net/http.
const (
	HeaderVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerParam   = "Mcp-Param-"
)

func headerMismatch(format string, args ...any) *Error {
	return Errorf(CodeHeaderMismatch, format, args...)
}

// SingleHeader returns the value of a header that may be given once. The key must be canonical.
func SingleHeader(h http.Header, key string) (value string, err *Error) {
	switch values := h[key]; len(values) {
	case 0:
		return "", nil
	case 1:
		return values[0], nil
	}
	return "", headerMismatch("The header %s is given more than once", key)
}

// checkHeaders checks the headers that repeat parts of a modern message, so that proxies can rely
// on them.
func checkHeaders(h http.Header, version string, m *Message) *Error {
	if m.IsRequest() {
		inBody, ok := jsonscan.Text(m.metaVersion)
		switch {
		case version == "":
			return headerMismatch("The header MCP-Protocol-Version is missing")
		case ok && inBody != version:
			return headerMismatch("The header MCP-Protocol-Version does not match params._meta, which says %q",
				jsonscan.Excerpt(inBody))
		}
	}
	method, err := SingleHeader(h, headerMethod)
	switch {
	case err != nil:
		return err
	case method == "":
		return headerMismatch("The header Mcp-Method is missing")
	case method != string(m.Method):
		return headerMismatch("The header Mcp-Method does not match the method, which is %q",
			jsonscan.Excerpt(m.Method))
	}
	return m.checkNameHeader(h)
}

// checkNameHeader checks the header that repeats the subject of a request. A request without the
// subject is refused later.
func (m *Message) checkNameHeader(h http.Header) *Error {
	member, subject := m.subject()
	inBody, ok := jsonscan.Text(subject)
	if !ok {
		return nil
	}
	name, err := SingleHeader(h, headerName)
	switch {
	case err != nil:
		return err
	case name == "":
		return headerMismatch("The header Mcp-Name is missing")
	case name == inBody:
		return nil
	}
	if decoded, ok := mcpheader.Decode(name); !ok || decoded != inBody {
		return headerMismatch("The header Mcp-Name does not match params.%s, which is %q", member,
			jsonscan.Excerpt(inBody))
	}
	return nil
}

// HeaderInput is an argument of a tool that modern clients repeat in a header, because its schema
// has x-mcp-header.
type HeaderInput struct {
	key  string
	path []string
}

// NewHeaderInput returns the HeaderInput for the argument at path, the property names from the
// outside in, and the header Mcp-Param-<name>. It reports false if no header can have that name.
func NewHeaderInput(name string, path ...string) (HeaderInput, bool) {
	if !mcpheader.IsName(name) || len(path) == 0 {
		return HeaderInput{}, false
	}
	return HeaderInput{http.CanonicalHeaderKey(headerParam + name), path}, true
}

// CheckHeaders checks that the headers of a modern HTTP request match its arguments. A Handler
// calls it first and returns its error, an [*Error], unchanged. For other requests the result is
// nil.
func (r *CallRequest) CheckHeaders(inputs []HeaderInput) error {
	if r.Caller.Header == nil || !r.Caller.Revision.Modern() {
		return nil
	}
	for _, in := range inputs {
		if err := in.check(r.Caller.Header, r.Arguments); err != nil {
			return err
		}
	}
	return nil
}

func (in HeaderInput) check(h http.Header, arguments []byte) *Error {
	argument := strings.Join(in.path, ".")
	encoded, err := SingleHeader(h, in.key)
	if err != nil {
		return err
	}
	_, given := h[in.key]
	value, ok := jsonscan.Lookup(arguments, in.path...)
	switch {
	case !ok || string(value) == "null":
		if given {
			return headerMismatch("The header %s repeats the argument %q, which is absent", in.key, argument)
		}
		return nil
	case !given:
		return headerMismatch("The header %s is missing. It must repeat the argument %q", in.key, argument)
	}
	decoded, ok := mcpheader.Decode(encoded)
	if !ok {
		return headerMismatch("The header %s is not valid Base64", in.key)
	}
	if !sameValue(decoded, value) {
		return headerMismatch("The header %s does not match the argument %q", in.key, argument)
	}
	return nil
}

// Repeat returns the header that repeats the argument, as clients send it. It reports false for arguments that have
// nothing to repeat.
func (in HeaderInput) Repeat(arguments []byte) (name, text string, ok bool) {
	value, ok := jsonscan.Lookup(arguments, in.path...)
	if !ok || strings.ContainsRune("{[n", rune(value[0])) {
		return "", "", false
	}
	if text, ok = jsonscan.Text(value); !ok {
		return in.key, string(value), true
	}
	return in.key, mcpheader.Encode(text), true
}

// sameValue compares a header with a scanned string, boolean or integer.
func sameValue(header string, value []byte) bool {
	switch value[0] {
	case '"':
		s, _ := jsonscan.Text(value)
		return header == s
	case 't', 'f':
		return header == string(value)
	case '{', '[':
		return false
	}
	a, errA := strconv.ParseFloat(header, 64)
	b, errB := strconv.ParseFloat(string(value), 64)
	const maxExact = 1<<53 - 1
	return errA == nil && errB == nil && a == b && a == math.Trunc(a) && math.Abs(a) <= maxExact
}
