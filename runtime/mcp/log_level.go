package mcp

import (
	"slices"

	"hatchel/hcl/jsonscan"
)

// Level is the severity of a log message to the client.
type Level int

// The levels of RFC 5424, least severe first. The zero Level is none of them.
const (
	LevelDebug Level = iota + 1
	LevelInfo
	LevelNotice
	LevelWarning
	LevelError
	LevelCritical
	LevelAlert
	LevelEmergency
)

var levelNames = []string{"", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

func (l Level) String() string { return levelNames[l] }

// parseLevel returns the level that a scanned value names, or 0.
func parseLevel(value []byte) Level {
	name, _ := jsonscan.Text(value)
	return Level(max(0, slices.Index(levelNames, name)))
}
