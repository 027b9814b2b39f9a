package legacy

import (
	"cmp"
	"context"
	"log/slog"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy/handover"
)

// Options configure a server of legacy clients. Zero values mean the defaults named in the comments.
type Options struct {
	// Key seals the ids of sessions over HTTP: 32 bytes. A session goes on in each server with the same key, also
	// later. nil is a random key.
	Key []byte
	// Store keeps what belongs to sessions and does not fit in their ids; nil keeps none.
	Store handover.Store
	// Courier carries messages to the other processes with the same Key and Store; nil if there are none. What it
	// brings goes to mcp.Server.Receive.
	Courier handover.Courier

	Sessions int   // over HTTP that are in memory; the others are opened again by their next request: 4096
	Events   int64 // bytes of events that all sessions keep for returning clients: 64 MiB
}

// Server serves the legacy clients of a server.
type Server struct {
	core    *mcp.Server
	options mcp.Options // of core
	log     *slog.Logger
	table   sessions
	relay   *handover.Relay
	served  remoteReaders
	work    background
}

// New returns the function that opens a server of legacy clients, for the options of their server.
func New(o Options) func(*mcp.Server) mcp.Legacy {
	return func(core *mcp.Server) mcp.Legacy { return newServer(core, o) }
}

func newServer(core *mcp.Server, o Options) *Server {
	s := &Server{core: core, options: core.Settings(), log: core.Settings().Logger}
	s.relay = handover.NewRelay(o.Store, o.Courier, s.log)
	s.table = sessions{
		server: s, store: o.Store, sealer: mcp.NewSealer(o.Key),
		limit: cmp.Or(o.Sessions, 4096), eventLimit: cmp.Or(o.Events, 64<<20),
		byID: make(map[string]*session), byName: make(map[handover.SessionName]*session),
	}
	return s
}

// Count returns how many sessions over HTTP are in memory.
func (s *Server) Count() int {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	return len(s.table.byID)
}

// Retain ends the sessions of every identity that is not valid.
func (s *Server) Retain(valid func(*mcp.Identity) bool) { s.table.retain(valid) }

// Shutdown waits for what runs in the background, and ends the sessions here. They may go on in another process.
func (s *Server) Shutdown(ctx context.Context) bool {
	s.table.saveDeletedNow()
	if !s.work.wait(ctx) {
		return false
	}
	s.table.closeAll()
	return true
}

// AwaitReceived waits until all that Receive has begun has ended, or ctx ends.
func (s *Server) AwaitReceived(ctx context.Context) { s.work.wait(ctx) }

// NewPeer returns a client on a pair of streams that has not sent initialize.
func (s *Server) NewPeer(toolset string) mcp.LegacyPeer {
	p := &peer{server: s, toolset: toolset, revision: legacyRevisions[0]}
	p.start()
	return p
}
