package mcp

import (
	"log/slog"
	"time"
)

// Options configures a server. Zero values mean the defaults named in the comments.
type Options struct {
	Logger *slog.Logger // receives failures; nil discards them

	// Hosts are the host names, without ports, under which clients reach the server over HTTP. On a
	// loopback address localhost, 127.0.0.1 and [::1] are accepted too. On any other address every
	// name is accepted if Hosts is empty.
	Hosts []string
	// Origins are the web origins, such as "https://app.example.com", that may send requests
	// besides the server's own.
	Origins []string

	MaxBody  int64 // bytes of an HTTP request: 4 MiB
	MaxFrame int   // bytes of a line: 16 MiB
	MaxDepth int   // levels of nesting: 64

	Sessions        int           // over HTTP; the session that was idle longest is evicted: 4096
	SessionIdle     time.Duration // after which an idle session ends: 30 minutes
	SessionAway     time.Duration // for a disconnected client to return for a question: 30 s
	SessionEvents   int64         // bytes of events that all sessions keep for returning clients: 64 MiB
	CallsPerSession int           // concurrent requests of a session or a pair of streams: 128
	Calls           int           // concurrent requests of all clients: 4096
	Listeners       int           // event streams of all clients that wait for something to happen: 16384

	FirstByte   time.Duration // after which keep-alives of a pending call begin: 5 s
	KeepAlive   time.Duration // between keep-alives: 15 s
	BodyTimeout time.Duration // for a peer to send its request: 30 s
	SendTimeout time.Duration // for a peer to accept a part of a reply: 30 s
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	setDefault(&o.MaxBody, 4<<20)
	setDefault(&o.MaxFrame, 16<<20)
	setDefault(&o.MaxDepth, 64)
	setDefault(&o.Sessions, 4096)
	setDefault(&o.SessionIdle, 30*time.Minute)
	setDefault(&o.SessionAway, 30*time.Second)
	setDefault(&o.SessionEvents, 64<<20)
	setDefault(&o.CallsPerSession, 128)
	setDefault(&o.Calls, 4096)
	setDefault(&o.Listeners, 16384)
	setDefault(&o.FirstByte, 5*time.Second)
	setDefault(&o.KeepAlive, 15*time.Second)
	setDefault(&o.BodyTimeout, 30*time.Second)
	setDefault(&o.SendTimeout, 30*time.Second)
	return o
}

func setDefault[T int | int64 | time.Duration](value *T, def T) {
	if *value <= 0 {
		*value = def
	}
}
