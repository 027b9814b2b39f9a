package runtime

import "hatchel/runtime/mcp"

// client is who made a request, as a backend knows it.
type client mcp.CallRequest

// Progress implements adapters.Client.
func (c *client) Progress(done, total float64, message string) {
	(*mcp.CallRequest)(c).Progress(done, total, message)
}

// Log implements adapters.Client.
func (c *client) Log(level, logger string, data []byte) {
	(*mcp.CallRequest)(c).Log(levels[level], logger, data)
}

var levels = map[string]mcp.Level{
	"debug": mcp.LevelDebug, "info": mcp.LevelInfo, "notice": mcp.LevelNotice, "warning": mcp.LevelWarning,
	"error": mcp.LevelError, "critical": mcp.LevelCritical, "alert": mcp.LevelAlert, "emergency": mcp.LevelEmergency,
}
