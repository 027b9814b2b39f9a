package mcp

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"

	"hatchel/hcl/jsonscan"
)

// Error codes of JSON-RPC and of the protocol.
const (
	CodeParseError         = -32700
	CodeInvalidRequest     = -32600
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeInternalError      = -32603
	CodeBusy               = -32000 // a limit is reached, or the server is shutting down
	CodeUnauthorized       = -32010 // the credentials are no longer valid
	CodeForbidden          = -32011 // the caller lacks scopes
	CodeHeaderMismatch     = -32020
	CodeMissingCapability  = -32021
	CodeUnsupportedVersion = -32022
)

// Error is an error of the protocol. It is sent to the client unchanged, so neither Message nor
// Data may contain a secret.
type Error struct {
	Code    int
	Message string
	Data    []byte // encoded JSON, or nil

	scopes  []string // of InsufficientScope
	unknown bool     // it is that of Unknown
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Errorf returns an error with a code.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Unknown returns the error for a tool, a prompt, a resource or a task that does not exist, or that
// the caller may not know of. Kind is one of these words or skill, and the name of a resource, or of a file of a skill,
// is its URI.
func Unknown(kind, name string) *Error {
	e := InvalidParams("Unknown %s: %s", kind, jsonscan.Excerpt(name))
	if kind == "resource" || kind == "skill" {
		e = InvalidParams("Resource not found: %s", jsonscan.Excerpt(name))
		e.Data = append(jsonscan.AppendString([]byte(`{"uri":`), name), '}')
	}
	e.unknown = true
	return e
}

// IsUnknown reports whether an error is that of Unknown, or wraps it.
func IsUnknown(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.unknown
}

// InvalidState returns the error for a requestState that the server did not issue to this caller
// for this request, or that has expired.
func InvalidState() *Error {
	return InvalidParams("requestState was not issued for this request, or it has expired. Call again without it")
}

// MissingCapability returns the error for a client that does not declare a required capability. The
// arguments are the names of nested members, as for Caller.Can.
func MissingCapability(capability ...string) *Error {
	e := Errorf(CodeMissingCapability, "Missing required client capability: %s", strings.Join(capability, "."))
	e.Data = []byte(`{"requiredCapabilities":`)
	for _, name := range capability {
		e.Data = append(jsonscan.AppendString(append(e.Data, '{'), name), ':')
	}
	e.Data = append(append(e.Data, "{}"...), strings.Repeat("}", len(capability)+1)...)
	return e
}

// InsufficientScope returns the error for a caller without the scopes, all of which are required
// (RFC 6750, section 3.1). Over HTTP the status is 403, and the client learns where to get the
// scopes.
func InsufficientScope(scopes []string) *Error {
	e := Errorf(CodeForbidden, "Insufficient scope: this requires %s", strings.Join(scopes, " "))
	e.scopes = scopes
	e.Data = append(AppendStrings([]byte(`{"requiredScopes":`), scopes), '}')
	return e
}

// IsInsufficientScope reports whether the error is that of InsufficientScope.
func (e *Error) IsInsufficientScope() bool { return e.Code == CodeForbidden && e.scopes != nil }

// Unauthorized returns the error for a caller whose credentials are not valid, or no longer valid.
func Unauthorized() *Error {
	return Errorf(CodeUnauthorized, "The credentials of this request are no longer valid. Sign in again")
}

// revisionNames lists the supported revisions for a message.
func (s *Server) revisionNames() string {
	var names []string
	for _, r := range s.Revisions() {
		names = append(names, string(r))
	}
	return strings.Join(names, ", ")
}

func (s *Server) unsupportedVersion(requested string) *Error {
	e := Errorf(CodeUnsupportedVersion, "Unsupported protocol version. This server supports %s", s.revisionNames())
	e.Data = AppendStrings([]byte(`{"supported":`), s.Revisions())
	e.Data = append(jsonscan.AppendString(append(e.Data, `,"requested":`...), requested), '}')
	return e
}

// parseError returns the error for a text that is not acceptable JSON.
func parseError(err error) *Error {
	var syntax *jsonscan.SyntaxError
	if !errors.As(err, &syntax) {
		return Errorf(CodeParseError, "Parse error")
	}
	return Errorf(CodeParseError, "Parse error at byte %d: %s", syntax.Offset, syntax.Reason)
}

// InvalidParams returns an error about the params of a request.
func InvalidParams(format string, args ...any) *Error {
	return Errorf(CodeInvalidParams, format, args...)
}

// InvalidRequest returns the error for a message that is no request of JSON-RPC.
func InvalidRequest(reason string) *Error {
	return Errorf(CodeInvalidRequest, "Invalid request: %s", reason)
}

// panicError returns a recovered panic of the Handler as an error.
func panicError(p any) error { return fmt.Errorf("panic: %v\n%s", p, debug.Stack()) }

// challenge returns the WWW-Authenticate header for e, or "" (RFC 6750, RFC 9728).
func (e *Error) challenge(i *Identity) string {
	var header string
	switch e.Code {
	case CodeForbidden:
		header = `Bearer error="insufficient_scope", scope="` + strings.Join(e.scopes, " ") + `"`
	case CodeUnauthorized:
		header = `Bearer error="invalid_token"`
	default:
		return ""
	}
	if i != nil && i.Metadata != "" {
		header += `, resource_metadata="` + i.Metadata + `"`
	}
	return header
}

// AppendReply appends the JSON-RPC response with the error. A nil id is written as null.
func (e *Error) AppendReply(dst, id []byte) []byte {
	if id == nil {
		id = []byte("null")
	}
	dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), id...)
	dst = strconv.AppendInt(append(dst, `,"error":{"code":`...), int64(e.Code), 10)
	dst = jsonscan.AppendString(append(dst, `,"message":`...), e.Message)
	if e.Data != nil {
		dst = append(append(dst, `,"data":`...), e.Data...)
	}
	return append(dst, "}}"...)
}

// AppendStrings appends an array of strings as encoded JSON.
func AppendStrings[T ~string](dst []byte, list []T) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonscan.AppendString(dst, s)
	}
	return append(dst, ']')
}
