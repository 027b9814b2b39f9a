// Package mcp turns a [Handler] into a server of the Model Context Protocol.
//
// One [Server] speaks the revisions 2024-11-05 to 2026-07-28 in both eras: legacy revisions have
// sessions that initialize opens; modern ones are stateless, and every request carries its own
// metadata. It serves Streamable HTTP ([Toolset.ServeHTTP]) and a pair of streams
// ([Toolset.Serve]), as a whole or one toolset at a time ([Server.For]).
//
// Everything that a peer sends is answered, with an error of the protocol if necessary. An error or
// a panic of the Handler ends one request and nothing else. A peer that stops reading delays only
// itself.
package mcp
