package hcl

import "net/url"

// Pin is what the file of definitions of a connection says of one tool of another MCP server.
type Pin struct {
	Tool        string // its name at the server
	Description string // the server's
	Digest      string // of the whole definition
	ReadOnly    bool   // the server says that the tool changes nothing
}

// Pinner is implemented by the Config of a connection to another MCP server.
type Pinner interface {
	// Pins returns the pinned tools, sorted by name.
	Pins() []Pin
	// Endpoint returns the URL of the server, nil for a program, and whether its requests carry a credential.
	Endpoint() (u *url.URL, authenticates bool)
}

// PinUser is implemented by the Config of a backend that calls a pinned tool of its connection.
type PinUser interface {
	// PinnedTool returns the name of the tool at the server.
	PinnedTool() string
}
