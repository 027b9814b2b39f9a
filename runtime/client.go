package runtime

import (
	"time"

	"hatchel/runtime/mcp"
)

// requestClient is who made a request, as a backend knows it.
type requestClient mcp.CallRequest

// Progress implements adapters.Client.
func (c *requestClient) Progress(done, total float64, message string) {
	(*mcp.CallRequest)(c).Progress(done, total, message)
}

// Log implements adapters.Client.
func (c *requestClient) Log(level, logger string, data []byte) {
	(*mcp.CallRequest)(c).Log(levels[level], logger, data)
}

// detacher is a client that can come back for its answer when its connection is let go of.
type detacher interface {
	// Detach lets go of the connection, and asks the client to come back after retry. It reports whether it has.
	Detach(retry time.Duration) bool
}

// Detach implements detacher.
func (c *requestClient) Detach(retry time.Duration) bool { return (*mcp.CallRequest)(c).Detach(retry) }

var levels = map[string]mcp.Level{
	"debug": mcp.LevelDebug, "info": mcp.LevelInfo, "notice": mcp.LevelNotice, "warning": mcp.LevelWarning,
	"error": mcp.LevelError, "critical": mcp.LevelCritical, "alert": mcp.LevelAlert, "emergency": mcp.LevelEmergency,
}
