package handover

import (
	"bytes"
	"encoding/json"

	"hatchel/runtime/edge/mcp"
)

// Response is the response of a client to a question.
type Response struct {
	Result []byte
	Err    error
}

// NewResponse returns the response of the client with this result or failure, as encoded JSON.
func NewResponse(result, failure []byte) Response {
	if failure != nil {
		return Response{Err: parseClientError(failure)}
	}
	return Response{Result: bytes.Clone(result)}
}

// parseClientError reads the error member of a response, as far as it is well-formed.
func parseClientError(failure []byte) *mcp.ClientError {
	e := &mcp.ClientError{Code: mcp.CodeInternalError}
	json.Unmarshal(failure, e)
	return e
}
