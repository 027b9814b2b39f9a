package mcp

import (
	"bytes"
	"context"
	"sync/atomic"
)

// peer is a client of the legacy era that has introduced itself.
type peer struct {
	revision           Revision
	info, capabilities []byte
	level              atomic.Int32 // the Level from which on it wants log messages
	ready              atomic.Bool  // it has said that it is initialized
	requests           inflight
	asked              inquiries
}

// greet reads what initialize says. The peer keeps nothing of m.
func (s *Server) greet(m *message) (*peer, *Error) {
	version, ok := text(m.protocolVersion)
	switch {
	case !ok:
		return nil, errorf(CodeInvalidParams, "params.protocolVersion must be a string")
	case m.capabilities != nil && m.capabilities[0] != '{':
		return nil, errorf(CodeInvalidParams, "params.capabilities must be an object")
	case m.clientInfo != nil && m.clientInfo[0] != '{':
		return nil, errorf(CodeInvalidParams, "params.clientInfo must be an object")
	}
	p := &peer{
		revision:     negotiate(version),
		info:         bytes.Clone(m.clientInfo),
		capabilities: bytes.Clone(m.capabilities),
		requests:     inflight{limit: s.options.CallsPerSession},
	}
	p.level.Store(int32(LevelInfo))
	return p, nil
}

// welcome appends the reply to initialize.
func (s *Server) welcome(dst []byte, m *message, p *peer) []byte {
	dst = append(append(append(dst, `{"jsonrpc":"2.0","id":`...), m.id...), `,"result":`...)
	return append(s.handler.Info("").initialized(dst, p.revision), '}')
}

// caller returns what a Handler is told about the peer.
func (p *peer) caller() *Caller {
	return &Caller{Revision: p.revision, ClientInfo: p.info, Capabilities: p.capabilities, logLevel: Level(p.level.Load())}
}

// notice acts on a notification from the peer.
func (p *peer) notice(m *message) {
	switch string(m.method) {
	case "notifications/initialized":
		p.ready.Store(true)
	case "notifications/cancelled":
		p.requests.cancel(m.requestID, errCancelled)
	}
}

// answerPeer is answer for a request whose reply depends on what has been said before.
func (s *Server) answerPeer(ctx context.Context, dst []byte, m *message, p *peer, q query) []byte {
	if string(m.method) != "logging/setLevel" {
		dst, _ = s.answer(ctx, dst, m, q)
		return dst
	}
	level := levelOf(m.level)
	if level == 0 {
		return errorf(CodeInvalidParams, "params.level must be one of debug, info, notice, warning, error, critical, alert, emergency").append(dst, m.id)
	}
	p.level.Store(int32(level))
	return append(append(append(dst, `{"jsonrpc":"2.0","id":`...), m.id...), `,"result":{}}`...)
}
