package mcp

import (
	"net/http"

	"hatchel/hcl/jsonscan"
)

// mostSelf is how many bytes a client may say of itself: it is kept for as long as the client has something going on.
const mostSelf = 64 << 10

// checkMeta checks what every modern request must say about itself, and fills in c.
func checkMeta(m *message, c *Caller) *Error {
	if m.meta == nil || m.meta[0] != '{' {
		return errorf(CodeInvalidParams, "params._meta is missing. Every request must carry %s and %s", keyProtocolVersion, keyClientCapabilities)
	}
	version, ok := jsonscan.Text(m.metaVersion)
	if !ok {
		return errorf(CodeInvalidParams, "params._meta must have %s, a string", keyProtocolVersion)
	}
	switch {
	case m.metaCapabilities == nil || m.metaCapabilities[0] != '{':
		return errorf(CodeInvalidParams, "params._meta must have %s, an object", keyClientCapabilities)
	case m.metaClient != nil && m.metaClient[0] != '{':
		return errorf(CodeInvalidParams, "%s in params._meta must be an object", keyClientInfo)
	case len(m.metaClient)+len(m.metaCapabilities) > mostSelf:
		return errorf(CodeInvalidParams, "%s and %s in params._meta have more than %d bytes", keyClientInfo, keyClientCapabilities, mostSelf)
	}
	if version != string(Revision20260728) {
		return unsupportedVersion(version)
	}
	c.Revision = Revision20260728
	c.ClientInfo, c.Capabilities = m.metaClient, m.metaCapabilities
	if m.metaLevel != nil {
		if c.logLevel = levelOf(m.metaLevel); c.logLevel == 0 {
			return errorf(CodeInvalidParams, "%s in params._meta is not a level", keyLogLevel)
		}
	}
	return nil
}

// speaksModern decides the era of a message that no header decides.
func (m *message) speaksModern() bool {
	if string(m.method) == "server/discover" {
		return true
	}
	version, ok := jsonscan.Text(m.metaVersion)
	return ok && Revision(version).Modern()
}

// statusOf returns the HTTP status that goes with an error of the modern era.
func statusOf(e *Error) int {
	switch e.Code {
	case CodeMethodNotFound:
		return http.StatusNotFound
	case CodeParseError, CodeInvalidRequest, CodeHeaderMismatch, CodeMissingCapability, CodeUnsupportedVersion:
		return http.StatusBadRequest
	case CodeUnauthorized:
		return http.StatusUnauthorized
	case CodeForbidden:
		return http.StatusForbidden
	}
	if e == errClosing {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}
