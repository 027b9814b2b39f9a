// Package runtime turns a loaded configuration into a server whose tools can be replaced while it
// serves.
//
// [Compile] makes a [Generation] of a configuration, and [Host] serves calls from the current one
// as a [mcp.Handler]. A load replaces it as one transaction: a load that fails changes nothing, a
// load that succeeds holds for every call that begins after it, and the replaced generation drains,
// is cancelled after a grace period, and is closed.
package runtime
