package mcp

import (
	"net/http"
	"slices"
	"strings"

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

var (
	// revisions is ordered newest first, as clients expect.
	revisions = []Revision{
		Revision20260728, Revision20251125, Revision20250618, Revision20250326, Revision20241105,
	}
	legacyRevisions = revisions[1:]
)

// Modern reports whether the revision is stateless: every request carries its own metadata.
func (r Revision) Modern() bool { return r >= Revision20260728 }

// hasStructuredContent reports whether results may have structuredContent.
func (r Revision) hasStructuredContent() bool { return r >= Revision20250618 }

// allowsBatches reports whether several messages may be sent in one JSON array.
func (r Revision) allowsBatches() bool { return r < Revision20250618 }

// sendsPrimingEvent reports whether event streams begin with an event that has only an id to resume
// from.
func (r Revision) sendsPrimingEvent() bool { return r >= Revision20251125 && !r.Modern() }

func isLegacyRevision(version string) bool {
	return slices.Contains(legacyRevisions, Revision(version))
}

// negotiate returns the revision for an initialize that asks for version: version itself if it is a
// legacy revision, otherwise the newest of them.
func negotiate(version string) Revision {
	if isLegacyRevision(version) {
		return Revision(version)
	}
	return legacyRevisions[0]
}

// revisionList lists the supported revisions for a sentence.
func revisionList() string {
	names := make([]string, len(revisions))
	for i, r := range revisions {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}

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
	if e.isTransient() {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}
