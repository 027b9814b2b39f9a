package mcp

import (
	"net/http"

	"hatchel/hcl/jsonscan"
)

// Revision is a dated revision of the protocol, such as "2025-11-25". Revisions compare as strings.
type Revision string

// The supported revisions.
const (
	Revision20241105 Revision = "2024-11-05"
	Revision20250326 Revision = "2025-03-26"
	Revision20250618 Revision = "2025-06-18"
	Revision20251125 Revision = "2025-11-25"
	Revision20260728 Revision = "2026-07-28"
)

// Revisions are those that a server supports, newest first, as clients expect.
func (s *Server) Revisions() []Revision {
	modern := []Revision{Revision20260728}
	if s.legacy == nil {
		return modern
	}
	return append(modern, s.legacy.Revisions()...)
}

// Modern reports whether the revision is stateless: every request carries its own metadata.
func (r Revision) Modern() bool { return r >= Revision20260728 }

// hasStructuredContent reports whether results may have structuredContent.
func (r Revision) hasStructuredContent() bool { return r >= Revision20250618 }

// MaxClientSize is the maximum size of the client info and the capabilities together, in bytes.
// They are kept while a session or a task of the client exists.
const MaxClientSize = 64 << 10

// requestedVersion returns the version that an initialize asks for, or "".
func (m *Message) requestedVersion() string {
	version, _ := jsonscan.Text(m.Param("protocolVersion"))
	return version
}

// checkMeta checks the required metadata of a modern request and sets the fields of c.
func (s *Server) checkMeta(m *Message, c *Caller) *Error {
	if !IsObject(m.meta) {
		return InvalidParams("params._meta is missing. Every request must carry %s and %s",
			keyProtocolVersion, keyClientCapabilities)
	}
	version, ok := jsonscan.Text(m.metaVersion)
	if !ok {
		return InvalidParams("params._meta must have %s, a string", keyProtocolVersion)
	}
	switch {
	case !IsObject(m.metaCapabilities):
		return InvalidParams("params._meta must have %s, an object", keyClientCapabilities)
	case m.metaClient != nil && !IsObject(m.metaClient):
		return InvalidParams("%s in params._meta must be an object", keyClientInfo)
	case len(m.metaClient)+len(m.metaCapabilities) > MaxClientSize:
		return InvalidParams("%s and %s in params._meta have more than %d bytes",
			keyClientInfo, keyClientCapabilities, MaxClientSize)
	}
	if version != string(Revision20260728) {
		return s.unsupportedVersion(version)
	}
	c.Revision = Revision20260728
	c.ClientInfo, c.Capabilities = m.metaClient, m.metaCapabilities
	if m.metaLevel != nil {
		if c.logLevel = ParseLogLevel(m.metaLevel); c.logLevel == 0 {
			return InvalidParams("%s in params._meta is not a level", keyLogLevel)
		}
	}
	return nil
}

// isModern reports the era of a message that no header determines.
func (m *Message) isModern() bool {
	if string(m.Method) == "server/discover" {
		return true
	}
	version, ok := jsonscan.Text(m.metaVersion)
	return ok && Revision(version).Modern()
}

// Status returns the HTTP status for an error of the modern era.
func (e *Error) Status() int {
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
	if e.IsTransient() {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}
