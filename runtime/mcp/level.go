package mcp

import (
	"slices"

	"hatchel/hcl/jsonscan"
)

// Level is the severity of a message for the log of a client.
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

// levelOf returns the level that a scanned value names, or 0.
func levelOf(raw []byte) Level {
	name, _ := jsonscan.Text(raw)
	return Level(max(0, slices.Index(levelNames, name)))
}
