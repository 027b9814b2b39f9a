package mcp

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync/atomic"
)

// peer is an initialized client of the legacy era.
type peer struct {
	revision           Revision
	info, capabilities []byte
	logLevel           atomic.Int32 // as in Caller
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
		return nil, invalidParams("params.capabilities must be an object")
	case info != nil && !isObject(info):
		return nil, invalidParams("params.clientInfo must be an object")
	case len(info)+len(capabilities) > maxClientSize:
		return nil, invalidParams("params.clientInfo and params.capabilities have more than %d bytes", maxClientSize)
	}
	p := &peer{
		revision:     negotiate(version),
		info:         bytes.Clone(info),
		capabilities: bytes.Clone(capabilities),
		inflight:     newInflightRequests(s.options.CallsPerSession),
		requests:     clientRequests{pending: make(map[string]chan clientResponse)},
		subscription: s.newSubscription(toolset, nil),
	}
	p.logLevel.Store(int32(slices.Index(levelNames, "info")))
	return p, nil
}

// appendInitializeReply appends the reply to initialize.
func (p *peer) appendInitializeReply(dst []byte, m *message, i *Info) []byte {
	return append(i.appendInitializeResult(m.beginReply(dst), p.revision), '}')
}

// caller returns the peer as the Handler sees it.
func (p *peer) caller() *Caller {
	return &Caller{
		Revision: p.revision, Toolset: p.subscription.toolset, ClientInfo: p.info, Capabilities: p.capabilities,
		logLevel: int(p.logLevel.Load()),
	}
}

func (p *peer) handleNotification(m *message) {
	switch string(m.method) {
	case "notifications/initialized":
		p.subscription.subscribeLists(toolListTopic, promptListTopic, resourceListTopic)
	case "notifications/cancelled":
		p.inflight.cancel(m.param("requestId"), errCancelled)
	}
}

// updatePeer serves the methods that change a session, and ping, which does not.
func (s *Server) updatePeer(ctx context.Context, m *message, rc requestContext) *Error {
	switch string(m.method) {
	case "ping":
		return nil
	case "logging/setLevel":
		return rc.peer.setLevel(m)
	}
	uri, invalid := stringParam("uri", m.uri)
	switch {
	case invalid != nil:
		return invalid
	case string(m.method) == "resources/unsubscribe": // succeeds without a subscription, too
		rc.peer.subscription.removeResource(uri)
		return nil
	}
	if err := rc.peer.subscription.addResource(ctx, rc.caller, uri); err != nil {
		return s.protocolError(ctx, m, err)
	}
	return nil
}

func (p *peer) setLevel(m *message) *Error {
	level := parseLevel(m.param("level"))
	if level == 0 {
		return invalidParams("params.level must be one of %s", strings.Join(levelNames[1:], ", "))
	}
	p.logLevel.Store(int32(level))
	return nil
}
