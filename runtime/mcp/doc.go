// Package mcp turns a [Handler] into a server of the Model Context Protocol.
//
// One [Server] speaks the revisions 2024-11-05 to 2026-07-28, in both eras (sessions opened by initialize; stateless requests that
// carry their own metadata), over Streamable HTTP ([Server.ServeHTTP]) and over a pair of streams ([Server.Serve]), as a whole or a toolset at a
// time ([Server.For]). It guarantees that whatever a peer sends is answered by a reply or by the protocol's own error, that a panic or an error
// behind the Handler ends one call and nothing else, and that a peer that stops reading delays nobody but itself.
package mcp
