package mcp

import (
	"fmt"
	"strconv"
)

// The codes of JSON-RPC and of the protocol.
const (
	CodeParseError         = -32700
	CodeInvalidRequest     = -32600
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeInternalError      = -32603
	CodeBusy               = -32000 // too many calls at once, or the server is going away
	CodeHeaderMismatch     = -32020
	CodeUnsupportedVersion = -32022
)

// Error is an error of the protocol. It reaches the peer as it is, so neither Message nor Data may hold a secret.
type Error struct {
	Code    int
	Message string
	Data    []byte // encoded JSON, or nil
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

func errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// UnknownTool is what a Handler returns for a name that it does not have.
func UnknownTool(name string) *Error {
	return errorf(CodeInvalidParams, "Unknown tool: %s", clip(name))
}

func unsupportedVersion(requested string) *Error {
	data := []byte(`{"supported":[`)
	for i, r := range revisions {
		if i > 0 {
			data = append(data, ',')
		}
		data = AppendString(data, r)
	}
	data = append(AppendString(append(data, `],"requested":`...), requested), '}')
	return &Error{Code: CodeUnsupportedVersion, Message: "Unsupported protocol version", Data: data}
}

func methodNotFound(method []byte) *Error {
	return errorf(CodeMethodNotFound, "Method not found: %s", clip(method))
}

// append appends a reply that carries the error. A nil id is written as null.
func (e *Error) append(dst, id []byte) []byte {
	if id == nil {
		id = []byte("null")
	}
	dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), id...)
	dst = strconv.AppendInt(append(dst, `,"error":{"code":`...), int64(e.Code), 10)
	dst = AppendString(append(dst, `,"message":`...), e.Message)
	if e.Data != nil {
		dst = append(append(dst, `,"data":`...), e.Data...)
	}
	return append(dst, "}}"...)
}
