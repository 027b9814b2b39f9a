package mcp

import (
	"slices"
	"strings"
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
