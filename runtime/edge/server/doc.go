// Package server serves a [runtime.Host] to clients: MCP at /mcp and /mcp/TOOLSET, uploaded files
// at /files, approvals at /approvals, the probes /healthz and /readyz, and /admin/reload, all over
// HTTP or TLS; or one MCP client over standard input and output.
//
// With an auth block in the configuration every request is authenticated, except /healthz, the bare
// status of /readyz, signed file URLs and the metadata of the protected resource. Operators are
// callers of the group admin, or without an auth block the programs of this machine.
package server
