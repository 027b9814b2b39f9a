package mcp

import (
	"encoding/base64"
	"math"
	"net/http"
	"strconv"
	"strings"

	"hatchel/hcl/jsonscan"
)

// The headers of the transport, spelled as package net/http files them.
const (
	headerVersion   = "Mcp-Protocol-Version"
	headerSession   = "Mcp-Session-Id"
	headerMethod    = "Mcp-Method"
	headerName      = "Mcp-Name"
	headerParam     = "Mcp-Param-"
	headerLastEvent = "Last-Event-Id"
)

// header returns the value of a header that may be given once. The key must be spelled as package net/http files it.
func header(h http.Header, key string) (value string, err *Error) {
	switch values := h[key]; len(values) {
	case 0:
		return "", nil
	case 1:
		return values[0], nil
	}
	return "", errorf(CodeHeaderMismatch, "The header %s is given more than once", key)
}

// checkHeaders checks the headers that mirror a modern message, so that what stands between client and server may rely on them.
func checkHeaders(h http.Header, version string, m *message) *Error {
	if m.isRequest() && m.metaVersion != nil {
		if in, ok := jsonscan.Text(m.metaVersion); ok && in != version {
			if version == "" {
				return errorf(CodeHeaderMismatch, "The header MCP-Protocol-Version is missing")
			}
			return errorf(CodeHeaderMismatch, "The header MCP-Protocol-Version does not match params._meta, which says %q", jsonscan.Excerpt(in))
		}
	}
	if m.isRequest() && version == "" {
		return errorf(CodeHeaderMismatch, "The header MCP-Protocol-Version is missing")
	}
	method, err := header(h, headerMethod)
	switch {
	case err != nil:
		return err
	case method == "":
		return errorf(CodeHeaderMismatch, "The header Mcp-Method is missing")
	case method != string(m.method):
		return errorf(CodeHeaderMismatch, "The header Mcp-Method does not match the method, which is %q", jsonscan.Excerpt(m.method))
	}
	return m.checkName(h)
}

// checkName checks the header that says what the request is about. A request that does not say so itself is refused for that.
func (m *message) checkName(h http.Header) *Error {
	member, subject := m.subject()
	in, ok := jsonscan.Text(subject)
	if !ok {
		return nil
	}
	name, err := header(h, headerName)
	switch {
	case err != nil:
		return err
	case name == "":
		return errorf(CodeHeaderMismatch, "The header Mcp-Name is missing")
	case name == in:
		return nil
	}
	if decoded, ok := decodeHeader(name); !ok || decoded != in {
		return errorf(CodeHeaderMismatch, "The header Mcp-Name does not match params.%s, which is %q", member, jsonscan.Excerpt(in))
	}
	return nil
}

// HeaderInput is an argument of a tool that modern clients repeat in a header, because its schema says x-mcp-header.
type HeaderInput struct {
	key  string
	path []string
}

// NewHeaderInput says that the argument at path, the names of properties from the outside in, is repeated in Mcp-Param-<name>. It
// reports false when no header can have that name.
func NewHeaderInput(name string, path ...string) (HeaderInput, bool) {
	for _, c := range []byte(name) {
		alnum := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !alnum && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return HeaderInput{}, false
		}
	}
	return HeaderInput{http.CanonicalHeaderKey(headerParam + name), path}, name != "" && len(path) > 0
}

// CheckHeaders checks that the headers of a modern HTTP request say what its arguments say. Elsewhere there is nothing to check. A
// Handler calls it before anything else; the error is an [*Error] to be returned as it is.
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
	at := strings.Join(in.path, ".")
	said, err := header(h, in.key)
	if err != nil {
		return err
	}
	_, given := h[in.key]
	raw, ok := jsonscan.Lookup(arguments, in.path...)
	switch {
	case !ok || string(raw) == "null":
		if given {
			return errorf(CodeHeaderMismatch, "The header %s repeats the argument %q, which is absent", in.key, at)
		}
		return nil
	case !given:
		return errorf(CodeHeaderMismatch, "The header %s is missing. It must repeat the argument %q", in.key, at)
	}
	decoded, ok := decodeHeader(said)
	if !ok {
		return errorf(CodeHeaderMismatch, "The header %s is not valid Base64", in.key)
	}
	if !sameValue(decoded, raw) {
		return errorf(CodeHeaderMismatch, "The header %s does not match the argument %q", in.key, at)
	}
	return nil
}

// sameValue compares a header with a scanned string, boolean or integer.
func sameValue(said string, raw []byte) bool {
	switch raw[0] {
	case '"':
		value, _ := jsonscan.Text(raw)
		return said == value
	case 't', 'f':
		return said == string(raw)
	case '{', '[':
		return false
	}
	a, errA := strconv.ParseFloat(said, 64)
	b, errB := strconv.ParseFloat(string(raw), 64)
	const exact = 1<<53 - 1
	return errA == nil && errB == nil && a == b && a == math.Trunc(a) && math.Abs(a) <= exact
}

// decodeHeader undoes the encoding of values that cannot stand in a header as they are.
func decodeHeader(value string) (string, bool) {
	inside, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return value, true
	}
	if inside, ok = strings.CutSuffix(inside, "?="); !ok {
		return value, true
	}
	b, err := base64.StdEncoding.Strict().DecodeString(inside)
	return string(b), err == nil && !strings.ContainsAny(inside, "\r\n") // which the decoder skips
}
