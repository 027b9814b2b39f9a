// Package mcptest has a scripted MCP server for tests, of each era, over HTTP and over pipes.
package mcptest
