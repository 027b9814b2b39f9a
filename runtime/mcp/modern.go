package mcp

import (
	"net/http"

	"hatchel/hcl/jsonscan"
)

// maxClientSize is the maximum size of the client info and the capabilities together, in bytes.
// They are kept while a session or a task of the client exists.
const maxClientSize = 64 << 10

// checkMeta checks the required metadata of a modern request and sets the fields of c.
func checkMeta(m *message, c *Caller) *Error {
	if !isObject(m.meta) {
		return invalidParams("params._meta is missing. Every request must carry %s and %s",
			keyProtocolVersion, keyClientCapabilities)
	}
	version, ok := jsonscan.Text(m.metaVersion)
	if !ok {
		return invalidParams("params._meta must have %s, a string", keyProtocolVersion)
	}
	switch {
	case !isObject(m.metaCapabilities):
		return invalidParams("params._meta must have %s, an object", keyClientCapabilities)
	case m.metaClient != nil && !isObject(m.metaClient):
		return invalidParams("%s in params._meta must be an object", keyClientInfo)
	case len(m.metaClient)+len(m.metaCapabilities) > maxClientSize:
		return invalidParams("%s and %s in params._meta have more than %d bytes",
			keyClientInfo, keyClientCapabilities, maxClientSize)
	}
	if version != string(Revision20260728) {
		return unsupportedVersion(version)
	}
	c.Revision = Revision20260728
	c.ClientInfo, c.Capabilities = m.metaClient, m.metaCapabilities
	if m.metaLevel != nil {
		if c.logLevel = parseLevel(m.metaLevel); c.logLevel == 0 {
			return invalidParams("%s in params._meta is not a level", keyLogLevel)
		}
	}
	return nil
}

// isModern reports the era of a message that no header determines.
func (m *message) isModern() bool {
	if string(m.method) == "server/discover" {
		return true
	}
	version, ok := jsonscan.Text(m.metaVersion)
	return ok && Revision(version).Modern()
}

// statusOf returns the HTTP status for an error of the modern era.
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
