package mcp

import (
	"strconv"
	"time"
)

// Document is what a prompt or a resource came to: the members of the result as encoded JSON, without braces.
type Document struct {
	Members   Appender
	Questions *Questions // instead of Members: what must be known first. Modern callers only

	// Of a resource, for modern callers.
	TTL     time.Duration // how long it may be kept without reading it again
	Private bool          // what is read depends on who reads
}

// appendCaching appends the members that tell a modern client how long it may keep a result.
func appendCaching(dst []byte, ttl time.Duration, private bool) []byte {
	dst = strconv.AppendInt(append(dst, `,"ttlMs":`...), max(0, ttl.Milliseconds()), 10)
	if private {
		return append(dst, `,"cacheScope":"private"`...)
	}
	return append(dst, `,"cacheScope":"public"`...)
}
