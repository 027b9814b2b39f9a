// Package legacy turns the messages of clients of the revisions up to 2025-11-25 into requests to an [mcp.Server]: the
// sessions that initialize opens, their event streams, questions on the stream of a call, and what processes tell each
// other of them. It is deleted with those revisions: [mcp.Legacy] is the one door to it.
package legacy
