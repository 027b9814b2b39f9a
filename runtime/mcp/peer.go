package mcp

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"hatchel/hcl/jsonscan"
)

// peer is an initialized client of the legacy era, or one without a session, which was not started.
type peer struct {
	revision           Revision
	toolset            string
	info, capabilities []byte
	logLevel           atomic.Int32 // as in Caller; levelUnknown until it is read from the record of the session
	session            *session     // nil on a pair of streams, and without a session
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
	p.logLevel.CompareAndSwap(0, int32(defaultLogLevel))
}

// defaultLogLevel is the level of the messages that a legacy client receives that has set none.
var defaultLogLevel = slices.Index(levelNames, "info")

const levelUnknown = -1

// level returns the level of the messages that the client receives. With several processes only the
// record of the session knows it.
func (p *peer) level() int {
	shared := p.session != nil && p.session.table.server.relay.courier != nil
	if level := int(p.logLevel.Load()); level != levelUnknown && !shared {
		return level
	}
	return p.session.readLevel()
}

// appendInitializeReply appends the reply to initialize.
func (p *peer) appendInitializeReply(dst []byte, m *message, i *Info, capabilities string) []byte {
	return append(i.appendInitializeResult(m.beginReply(dst), p.revision, capabilities), '}')
}

// caller returns the peer as the Handler sees it.
func (p *peer) caller() *Caller {
	return &Caller{
		Revision: p.revision, Toolset: p.toolset, ClientInfo: p.info, Capabilities: p.capabilities,
	}
}

// subscribeLists subscribes the client to all lists.
func (p *peer) subscribeLists() {
	p.subscription.subscribeLists(toolListTopic, promptListTopic, resourceListTopic)
}

// resolve delivers a response of the client.
func (p *peer) resolve(m *message) {
	id, _ := jsonscan.Text(m.id)
	p.requests.resolve(id, newClientResponse(m.result, m.failure))
}

// handleNotification acts on a notification of the client. It reports false if it is about a request that
// is not in progress here.
func (p *peer) handleNotification(m *message) (here bool) {
	switch string(m.method) {
	case "notifications/initialized":
		if p.subscription != nil {
			p.subscribeLists()
		}
	case "notifications/cancelled":
		return p.inflight.cancel(m.param("requestId"), errCancelled)
	}
	return true
}

// updatePeer serves the methods that change a session.
func (s *Server) updatePeer(ctx context.Context, m *message, rc requestContext) *Error {
	if string(m.method) == "logging/setLevel" {
		return s.setLevel(ctx, m, rc.peer)
	}
	uri, invalid := stringParam("uri", m.uri)
	switch {
	case invalid != nil:
		return invalid
	}
	sub, sess, unsubscribe := rc.peer.subscription, rc.peer.session, string(m.method) == "resources/unsubscribe"
	var err error
	switch {
	case unsubscribe && sess != nil: // succeeds without a subscription, too
		err = sess.unsubscribe(ctx, uri)
	case unsubscribe:
		sub.removeResource(uri)
	case sess != nil:
		err = sess.subscribe(ctx, rc.caller, uri)
	default:
		err = sub.addResource(ctx, rc.caller, uri)
	}
	if err != nil {
		return s.protocolError(ctx, m, err)
	}
	return nil
}

func (s *Server) setLevel(ctx context.Context, m *message, p *peer) *Error {
	level := parseLevel(m.param("level"))
	if level == 0 {
		return invalidParams("params.level must be one of %s", strings.Join(levelNames[1:], ", "))
	}
	if p.session != nil {
		if err := p.session.saveLevel(ctx, levelNames[level]); err != nil {
			return s.protocolError(ctx, m, err)
		}
	}
	p.logLevel.Store(int32(level))
	return nil
}
