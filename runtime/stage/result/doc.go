// Package result turns the values that a call computes into MCP content: structured results, text
// and content blocks, truncated to what a model receives and without secrets.
//
// A [Shaper] fills the [Result] of a call: [Shaper.Shape] evaluates what the tool declares,
// [Shaper.Encode] makes bytes of it, and [Shaper.Outcome] hands these to the protocol. A [Cache]
// keeps results of tools that only read.
package result
