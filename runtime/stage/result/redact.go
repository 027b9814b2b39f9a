package result

import (
	"hatchel/adapters/scrub"
	"hatchel/hcl/eval"
)

// Redactor removes from what is sent to a client what it must not read: the secrets of the server, and what the
// detectors of the call find. Whatever sends a part of an answer uses it; nothing else applies detectors.
type Redactor struct {
	scrubber *scrub.Scrubber
	detect   *eval.Detector
}

// NewRedactor returns the Redactor of a call. Either argument may be nil.
func NewRedactor(s *scrub.Scrubber, d *eval.Detector) Redactor { return Redactor{s, d} }

// Text returns a text as it may be sent.
func (r Redactor) Text(text string) string { return r.detect.Text(r.scrubber.Text(text)) }

// Bytes is Text of bytes, which it may return themselves.
func (r Redactor) Bytes(text []byte) []byte { return r.detect.Bytes(r.scrubber.Bytes(text)) }

// JSON returns encoded JSON as it may be sent. Names of members stay.
func (r Redactor) JSON(text []byte) []byte { return r.detect.JSON(r.scrubber.JSON(text)) }
