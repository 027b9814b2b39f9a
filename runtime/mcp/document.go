package mcp

// Document is what a prompt or a resource came to: the members of the result as encoded JSON, without braces.
type Document struct {
	Members   Appender
	Questions *Questions // instead of Members: what must be known first. Modern callers only
}
