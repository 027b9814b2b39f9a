// Package client speaks the Model Context Protocol with servers, of the revisions 2025-03-26 to 2026-07-28, over HTTP
// and over the pipes of a program.
//
// [Open] begins a [Session] and finds out which revision the server speaks. The server is not trusted: everything
// that it sends is bounded in size, number, depth and time, it may ask only what [Options] declare, and its answers
// reach only the call that they belong to. An [*Error] of a call says what is certain of it, above all whether
// anything was sent.
//
// The package neither repeats a call nor reads credentials: both belong to its callers.
package client
