package legacy

import (
	"hatchel/runtime/edge/mcp"

	"slices"
	"strings"

	"hatchel/hcl/jsonscan"
)

// legacyRevisions are ordered newest first.
var legacyRevisions = []mcp.Revision{
	mcp.Revision20251125, mcp.Revision20250618, mcp.Revision20250326, mcp.Revision20241105,
}

// Revisions returns the supported revisions, newest first.
func (s *Server) Revisions() []mcp.Revision { return legacyRevisions }

// allowsBatches reports whether several messages may be sent in one JSON array.
func allowsBatches(r mcp.Revision) bool { return r < mcp.Revision20250618 }

// sendsPrimingEvent reports whether event streams begin with an event that has only an id to resume
// from.
func sendsPrimingEvent(r mcp.Revision) bool { return r >= mcp.Revision20251125 }

func isLegacyRevision(version string) bool {
	return slices.Contains(legacyRevisions, mcp.Revision(version))
}

// negotiate returns the revision for an initialize that asks for version: version itself if it is a
// legacy revision, otherwise the newest of them.
func negotiate(version string) mcp.Revision {
	if isLegacyRevision(version) {
		return mcp.Revision(version)
	}
	return legacyRevisions[0]
}

// unsupportedHeader is why a request is refused for its version.
func (s *Server) unsupportedHeader() string {
	names := []string{}
	for _, r := range s.core.Revisions() {
		names = append(names, string(r))
	}
	return "The header MCP-Protocol-Version must be one of " + strings.Join(names, ", ")
}

// The capabilities do not depend on what the current lists contain. Extensions are added to them.
const (
	legacyCapabilities = `{"completions":{},"logging":{},"prompts":{"listChanged":true},` +
		`"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}`

	// sessionlessCapabilities are those that need neither a session nor a stream of its own.
	sessionlessCapabilities = `{"completions":{},"prompts":{},"resources":{},"tools":{}}`
)

// appendInitializeResult appends the result of initialize.
func appendInitializeResult(dst []byte, i *mcp.Info, r mcp.Revision, capabilities string) []byte {
	dst = jsonscan.AppendString(append(dst, `{"protocolVersion":`...), r)
	return i.AppendDescription(i.AppendCapabilities(append(dst, `,"capabilities":`...), capabilities))
}
