package mcp

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"

	"hatchel/hcl/jsonscan"
)

// The codes of JSON-RPC and of the protocol.
const (
	CodeParseError         = -32700
	CodeInvalidRequest     = -32600
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeInternalError      = -32603
	CodeBusy               = -32000 // too many calls at once, or the server is going away
	CodeUnauthorized       = -32010 // who asks is not known any more
	CodeForbidden          = -32011 // who asks lacks scopes
	CodeHeaderMismatch     = -32020
	CodeMissingCapability  = -32021
	CodeUnsupportedVersion = -32022
)

// Error is an error of the protocol. It reaches the peer as it is, so neither Message nor Data may hold a secret.
type Error struct {
	Code    int
	Message string
	Data    []byte // encoded JSON, or nil

	scopes []string // of InsufficientScope
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

func errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// UnknownTool is what a Handler returns for a name that it does not have.
func UnknownTool(name string) *Error {
	return errorf(CodeInvalidParams, "Unknown tool: %s", jsonscan.Excerpt(name))
}

// UnknownPrompt is what a Handler returns for the name of a prompt that it does not have.
func UnknownPrompt(name string) *Error {
	return errorf(CodeInvalidParams, "Unknown prompt: %s", jsonscan.Excerpt(name))
}

// UnknownResource is what a Handler returns for a URI that leads to nothing.
func UnknownResource(uri string) *Error {
	e := errorf(CodeInvalidParams, "Resource not found: %s", jsonscan.Excerpt(uri))
	e.Data = append(jsonscan.AppendString([]byte(`{"uri":`), uri), '}')
	return e
}

// UnknownTask is what a Handler returns for the id of a task that does not exist, or not for the caller.
func UnknownTask(id string) *Error {
	return errorf(CodeInvalidParams, "Unknown task: %s", jsonscan.Excerpt(id))
}

// InvalidState is what a Handler returns for a requestState that it did not give out to this caller for this request, or not recently.
func InvalidState() *Error {
	return errorf(CodeInvalidParams, "requestState is not one that this server gave out for this request, or it has expired. Call again without it")
}

// MissingCapability is what a Handler returns to a client that must be able to do something to be served. The names are those of nested
// members of its capabilities, as for Caller.Can.
func MissingCapability(capability ...string) *Error {
	e := errorf(CodeMissingCapability, "Missing required client capability: %s", strings.Join(capability, "."))
	e.Data = []byte(`{"requiredCapabilities":`)
	for _, name := range capability {
		e.Data = append(jsonscan.AppendString(append(e.Data, '{'), name), ':')
	}
	e.Data = append(append(e.Data, "{}"...), strings.Repeat("}", len(capability)+1)...)
	return e
}

func unsupportedVersion(requested string) *Error {
	data := []byte(`{"supported":[`)
	for i, r := range revisions {
		if i > 0 {
			data = append(data, ',')
		}
		data = jsonscan.AppendString(data, r)
	}
	data = append(jsonscan.AppendString(append(data, `],"requested":`...), requested), '}')
	return &Error{Code: CodeUnsupportedVersion, Message: "Unsupported protocol version", Data: data}
}

// parseError returns the error of the protocol about a text that is not JSON.
func parseError(err error) *Error {
	var syntax *jsonscan.SyntaxError
	if !errors.As(err, &syntax) {
		return errorf(CodeParseError, "Parse error: %s", err)
	}
	return errorf(CodeParseError, "Parse error at byte %d: %s", syntax.Offset, syntax.What)
}

// panicked is the error that a panic behind the Handler becomes.
func panicked(p any) error { return fmt.Errorf("panic: %v\n%s", p, debug.Stack()) }

func methodNotFound(method []byte) *Error {
	return errorf(CodeMethodNotFound, "Method not found: %s", jsonscan.Excerpt(method))
}

// append appends a reply that carries the error. A nil id is written as null.
func (e *Error) append(dst, id []byte) []byte {
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
