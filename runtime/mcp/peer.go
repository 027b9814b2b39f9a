package mcp

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync/atomic"
)

// peer is an initialized client of the legacy era, or one without a session, which was not started.
type peer struct {
	revision           Revision
	toolset            string
	info, capabilities []byte
	logLevel           atomic.Int32 // as in Caller
	inflight           inflightRequests
	requests           clientRequests
	subscription       *subscription // nil without a session
}

var errInitialized = &Error{Code: CodeInvalidRequest, Message: "The session is already initialized"}

func batchesNotSupported(r Revision) *Error {
	return errorf(CodeInvalidRequest, "Revision %s does not support batches", r)
}

// readInitialize reads what the client says about itself in initialize. It keeps nothing of m.
func (p *peer) readInitialize(m *message) *Error {
	version, invalid := stringParam("protocolVersion", m.param("protocolVersion"))
	capabilities, info := m.param("capabilities"), m.param("clientInfo")
	switch {
	case invalid != nil:
		return invalid
	case capabilities != nil && !isObject(capabilities):
		return invalidParams("params.capabilities must be an object")
	case info != nil && !isObject(info):
		return invalidParams("params.clientInfo must be an object")
	case len(info)+len(capabilities) > maxClientSize:
		return invalidParams("params.clientInfo and params.capabilities have more than %d bytes", maxClientSize)
	}
	p.revision, p.info, p.capabilities = negotiate(version), bytes.Clone(info), bytes.Clone(capabilities)
	return nil
}

// start prepares a new peer for requests.
func (p *peer) start(s *Server) {
	p.inflight.limit = s.options.CallsPerSession
	p.subscription = s.newSubscription(p.toolset, nil)
	p.logLevel.Store(int32(defaultLogLevel))
}

// defaultLogLevel is the level of the messages that a legacy client receives that has set none.
var defaultLogLevel = slices.Index(levelNames, "info")

// appendInitializeReply appends the reply to initialize.
func (p *peer) appendInitializeReply(dst []byte, m *message, i *Info, capabilities string) []byte {
	return append(i.appendInitializeResult(m.beginReply(dst), p.revision, capabilities), '}')
}

// caller returns the peer as the Handler sees it.
func (p *peer) caller() *Caller {
	return &Caller{
		Revision: p.revision, Toolset: p.toolset, ClientInfo: p.info, Capabilities: p.capabilities,
		logLevel: int(p.logLevel.Load()),
	}
}

func (p *peer) handleNotification(m *message) {
	switch string(m.method) {
	case "notifications/initialized":
		if p.subscription != nil {
			p.subscription.subscribeLists(toolListTopic, promptListTopic, resourceListTopic)
		}
	case "notifications/cancelled":
		p.inflight.cancel(m.param("requestId"), errCancelled)
	}
}

// updatePeer serves the methods that change a session.
func (s *Server) updatePeer(ctx context.Context, m *message, rc requestContext) *Error {
	if string(m.method) == "logging/setLevel" {
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
