package mcp

import (
	"cmp"
	"log/slog"
	"time"
)

// Options configures a server. Zero values mean the defaults named in the comments.
type Options struct {
	Logger *slog.Logger // receives failures; nil discards them

	MaxBody  int64 // bytes of an HTTP request: 4 MiB
	MaxFrame int   // bytes of a line: 16 MiB
	MaxDepth int   // levels of nesting: 64

	Sessions        int           // over HTTP; the session that was idle longest is evicted: 4096
	SessionIdle     time.Duration // after which an idle session ends: 30 minutes
	SessionEvents   int64         // bytes of events that all sessions keep for returning clients: 64 MiB
	CallsPerSession int           // concurrent requests of a session or a pair of streams: 128
}

func (o Options) withDefaults() Options {
	return Options{
		Logger:          cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		MaxBody:         cmp.Or(o.MaxBody, 4<<20),
		MaxFrame:        cmp.Or(o.MaxFrame, 16<<20),
		MaxDepth:        cmp.Or(o.MaxDepth, 64),
		Sessions:        cmp.Or(o.Sessions, 4096),
		SessionIdle:     cmp.Or(o.SessionIdle, 30*time.Minute),
		SessionEvents:   cmp.Or(o.SessionEvents, 64<<20),
		CallsPerSession: cmp.Or(o.CallsPerSession, 128),
	}
}

// The limits that all servers share.
const (
	maxCalls     = 4096  // concurrent requests of all clients
	maxListeners = 16384 // event streams of all clients that wait for something to happen

	firstByteTimeout  = 5 * time.Second  // after which keep-alives of a pending call begin
	keepAliveInterval = 15 * time.Second // between keep-alives
	bodyTimeout       = 30 * time.Second // for a peer to send its request
	sendTimeout       = 30 * time.Second // for a peer to accept a part of a reply
	returnTimeout     = 30 * time.Second // for a disconnected client to return for a question
)
