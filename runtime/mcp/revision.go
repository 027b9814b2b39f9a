package mcp

import "strings"

// Revision is a dated revision of the protocol, such as "2025-11-25". Revisions compare as strings.
type Revision string

// The revisions this package speaks.
const (
	Revision20241105 Revision = "2024-11-05"
	Revision20250326 Revision = "2025-03-26"
	Revision20250618 Revision = "2025-06-18"
	Revision20251125 Revision = "2025-11-25"
	Revision20260728 Revision = "2026-07-28"
)

// newest first, as clients expect to read them.
var (
	revisions       = []Revision{Revision20260728, Revision20251125, Revision20250618, Revision20250326, Revision20241105}
	legacyRevisions = revisions[1:]
)

// Modern reports whether the revision belongs to the stateless era, in which every request carries its own metadata.
func (r Revision) Modern() bool { return r >= Revision20260728 }

// structured reports whether results of the revision have structuredContent.
func (r Revision) structured() bool { return r >= Revision20250618 }

// batches reports whether several messages may travel in one JSON array.
func (r Revision) batches() bool { return r < Revision20250618 }

// primes reports whether event streams of the revision begin with an event that carries nothing but an id to resume from.
func (r Revision) primes() bool { return r >= Revision20251125 && !r.Modern() }

// known returns the revision spelled v among of.
func known(of []Revision, v string) (Revision, bool) {
	for _, r := range of {
		if string(r) == v {
			return r, true
		}
	}
	return "", false
}

// negotiate answers an initialize that asks for v: v itself where it is a revision with sessions, otherwise the highest of them.
func negotiate(v string) Revision {
	if r, ok := known(legacyRevisions, v); ok {
		return r
	}
	return legacyRevisions[0]
}

// listed joins the revisions for a sentence.
func listed(of []Revision) string {
	var b strings.Builder
	for i, r := range of {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(r))
	}
	return b.String()
}
