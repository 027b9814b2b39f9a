package mcp

import (
	"log/slog"
	"time"
)

// Options are the limits of a server. The zero value of each stands for the default that its comment names.
type Options struct {
	Logger *slog.Logger // where failures are accounted for; nil discards them

	// Hosts are the names, without ports, under which the server is reached over HTTP. On a loopback address localhost, 127.0.0.1
	// and [::1] always are. Without Hosts every name is accepted on an address that is not loopback.
	Hosts []string
	// Origins are the web origins, such as "https://app.example.com", that may send requests besides the server's own.
	Origins []string

	MaxBody  int64 // bytes of an HTTP request: 4 MiB
	MaxFrame int   // bytes of a line: 16 MiB
	MaxDepth int   // levels of nesting: 64

	Sessions        int           // over HTTP, the one idle longest gives way: 4096
	SessionIdle     time.Duration // after which a session is forgotten: 30 minutes
	SessionAway     time.Duration // that a client which is asked may be gone before its answer is not waited for any more: 30 s
	SessionEvents   int64         // bytes of events that all sessions keep for clients that come back: 64 MiB
	CallsPerSession int           // requests at once of a session or a pair of streams: 128
	Calls           int           // requests at once in all: 4096
	Listeners       int           // event streams that wait for something to happen, in all: 16384

	FirstByte   time.Duration // after which a call that is not answered begins to send keep-alives: 5 s
	KeepAlive   time.Duration // between keep-alives: 15 s
	BodyTimeout time.Duration // for a peer to send what it announced: 30 s
	SendTimeout time.Duration // for a peer to take a part of a reply: 30 s
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

func setDefault[T int | int64 | time.Duration](value *T, otherwise T) {
	if *value <= 0 {
		*value = otherwise
	}
}
