package mcp

import (
	"bytes"
	"context"
	"sync/atomic"

	"hatchel/hcl/jsonscan"
)

// peer is a client of the legacy era that has introduced itself.
type peer struct {
	revision           Revision
	info, capabilities []byte
	level              atomic.Int32 // the Level from which on it wants log messages
	requests           inflight
	asked              inquiries
	hears              *subscription
}

// greet reads what initialize says. The peer keeps nothing of m.
func (s *Server) greet(m *message, toolset string) (*peer, *Error) {
	version, ok := jsonscan.Text(m.protocolVersion)
	switch {
	case !ok:
		return nil, errorf(CodeInvalidParams, "params.protocolVersion must be a string")
	case m.capabilities != nil && m.capabilities[0] != '{':
		return nil, errorf(CodeInvalidParams, "params.capabilities must be an object")
	case m.clientInfo != nil && m.clientInfo[0] != '{':
		return nil, errorf(CodeInvalidParams, "params.clientInfo must be an object")
	case len(m.clientInfo)+len(m.capabilities) > mostSelf:
		return nil, errorf(CodeInvalidParams, "params.clientInfo and params.capabilities have more than %d bytes", mostSelf)
	}
	p := &peer{
		revision:     negotiate(version),
		info:         bytes.Clone(m.clientInfo),
		capabilities: bytes.Clone(m.capabilities),
		requests:     inflight{limit: s.options.CallsPerSession},
		hears:        s.newSubscription(toolset, nil),
	}
	p.hears.lists = Changes{Tools: true, Prompts: true, Resources: true}
	p.level.Store(int32(LevelInfo))
	return p, nil
}

// welcome appends the reply to initialize.
func (p *peer) welcome(dst []byte, m *message, i *Info) []byte {
	dst = append(append(append(dst, `{"jsonrpc":"2.0","id":`...), m.id...), `,"result":`...)
	return append(i.initialized(dst, p.revision), '}')
}

// caller returns what a Handler is told about the peer.
func (p *peer) caller() *Caller {
	return &Caller{Revision: p.revision, Toolset: p.hears.toolset, ClientInfo: p.info, Capabilities: p.capabilities, logLevel: Level(p.level.Load())}
}

// notice acts on a notification from the peer.
func (p *peer) notice(m *message) {
	switch string(m.method) {
	case "notifications/initialized":
		p.hears.hearOfLists()
	case "notifications/cancelled":
		p.requests.cancel(m.requestID, errCancelled)
	}
}

// answerPeer is answer for a request whose reply depends on what has been said before.
func (s *Server) answerPeer(ctx context.Context, dst []byte, m *message, p *peer, q query) ([]byte, *Error) {
	var err *Error
	switch string(m.method) {
	case "logging/setLevel":
		err = p.setLevel(m)
	case "resources/subscribe":
		err = s.subscribe(ctx, m, p, q)
	case "resources/unsubscribe":
		err = p.unsubscribe(m)
	default:
		return s.answer(ctx, dst, m, q)
	}
	if err != nil {
		return err.append(dst, m.id), err
	}
	return append(append(append(dst, `{"jsonrpc":"2.0","id":`...), m.id...), `,"result":{}}`...), nil
}

func (p *peer) setLevel(m *message) *Error {
	level := levelOf(m.level)
	if level == 0 {
		return errorf(CodeInvalidParams, "params.level must be one of debug, info, notice, warning, error, critical, alert, emergency")
	}
	p.level.Store(int32(level))
	return nil
}

// subscribe serves resources/subscribe.
func (s *Server) subscribe(ctx context.Context, m *message, p *peer, q query) *Error {
	uri, ok := jsonscan.Text(m.uri)
	if !ok {
		return errorf(CodeInvalidParams, "params.uri must be a string")
	}
	if err := p.hears.follows.add(ctx, q.caller, uri); err != nil {
		return s.refused(ctx, m, err)
	}
	return nil
}

// unsubscribe serves resources/unsubscribe. There may be nothing to end.
func (p *peer) unsubscribe(m *message) *Error {
	uri, ok := jsonscan.Text(m.uri)
	if !ok {
		return errorf(CodeInvalidParams, "params.uri must be a string")
	}
	p.hears.follows.remove(uri)
	return nil
}
