// Package drift compares the tools that an MCP server lists with the definitions that were reviewed.
//
// A [Monitor] belongs to a connection and knows which definitions its blocks use. Each session with the server has a
// [Session], which lists the definitions before the first call of the session, when the server says that its list has
// changed, and when what was listed is too old. A call asks [Session.Admit] before anything is sent: a tool that is not
// as reviewed is refused.
package drift
