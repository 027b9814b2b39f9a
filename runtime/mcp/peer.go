package mcp

import (
	"bytes"
	"context"
	"sync/atomic"
)

// peer is an initialized client of the legacy era.
type peer struct {
	revision           Revision
	info, capabilities []byte
	logLevel           atomic.Int32 // the minimum Level of log messages
	inflight           inflightRequests
	requests           clientRequests
	subscription       *subscription
}

var errInitialized = &Error{Code: CodeInvalidRequest, Message: "The session is already initialized"}

func batchesNotSupported(r Revision) *Error {
	return errorf(CodeInvalidRequest, "Revision %s does not support batches", r)
}

// newPeer returns the peer that sent initialize. It keeps nothing of m.
func (s *Server) newPeer(m *message, toolset string) (*peer, *Error) {
	version, invalid := stringParam("protocolVersion", m.param("protocolVersion"))
	capabilities, info := m.param("capabilities"), m.param("clientInfo")
	switch {
	case invalid != nil:
		return nil, invalid
	case capabilities != nil && !isObject(capabilities):
		return nil, errorf(CodeInvalidParams, "params.capabilities must be an object")
	case info != nil && !isObject(info):
		return nil, errorf(CodeInvalidParams, "params.clientInfo must be an object")
	case len(info)+len(capabilities) > maxClientSize:
		return nil, errorf(CodeInvalidParams,
			"params.clientInfo and params.capabilities have more than %d bytes", maxClientSize)
	}
	p := &peer{
		revision:     negotiate(version),
		info:         bytes.Clone(info),
		capabilities: bytes.Clone(capabilities),
		inflight:     inflightRequests{limit: s.options.CallsPerSession},
		subscription: s.newSubscription(toolset, nil),
	}
	p.subscription.lists = Changes{Tools: true, Prompts: true, Resources: true}
	p.logLevel.Store(int32(LevelInfo))
	return p, nil
}

// appendInitializeReply appends the reply to initialize.
func (p *peer) appendInitializeReply(dst []byte, m *message, i *Info) []byte {
	dst = append(append(append(dst, `{"jsonrpc":"2.0","id":`...), m.id...), `,"result":`...)
	return append(i.appendInitializeResult(dst, p.revision), '}')
}

// caller returns the peer as the Handler sees it.
func (p *peer) caller() *Caller {
	return &Caller{
		Revision: p.revision, Toolset: p.subscription.toolset, ClientInfo: p.info, Capabilities: p.capabilities,
		logLevel: Level(p.logLevel.Load()),
	}
}

func (p *peer) handleNotification(m *message) {
	switch string(m.method) {
	case "notifications/initialized":
		p.subscription.subscribeLists()
	case "notifications/cancelled":
		p.inflight.cancel(m.param("requestId"), errCancelled)
	}
}

// replyToPeer is reply with the methods that change the session.
func (s *Server) replyToPeer(
	ctx context.Context, dst []byte, m *message, p *peer, rc requestContext,
) ([]byte, *Error) {
	var err *Error
	switch string(m.method) {
	case "logging/setLevel":
		err = p.setLevel(m)
	case "resources/subscribe":
		err = s.subscribeResource(ctx, m, p, rc)
	case "resources/unsubscribe":
		err = p.unsubscribeResource(m)
	default:
		return s.reply(ctx, dst, m, rc)
	}
	if err != nil {
		return err.appendReply(dst, m.id), err
	}
	return append(append(append(dst, `{"jsonrpc":"2.0","id":`...), m.id...), `,"result":{}}`...), nil
}

func (p *peer) setLevel(m *message) *Error {
	level := parseLevel(m.param("level"))
	if level == 0 {
		return errorf(CodeInvalidParams,
			"params.level must be one of debug, info, notice, warning, error, critical, alert, emergency")
	}
	p.logLevel.Store(int32(level))
	return nil
}

// subscribeResource serves resources/subscribe.
func (s *Server) subscribeResource(ctx context.Context, m *message, p *peer, rc requestContext) *Error {
	uri, invalid := stringParam("uri", m.uri)
	if invalid != nil {
		return invalid
	}
	if err := p.subscription.resources.add(ctx, rc.caller, uri); err != nil {
		return s.protocolError(ctx, m, err)
	}
	return nil
}

// unsubscribeResource serves resources/unsubscribe. It succeeds without a subscription, too.
func (p *peer) unsubscribeResource(m *message) *Error {
	uri, invalid := stringParam("uri", m.uri)
	if invalid == nil {
		p.subscription.resources.remove(uri)
	}
	return invalid
}
