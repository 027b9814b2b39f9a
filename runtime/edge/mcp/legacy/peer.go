package legacy

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"hatchel/hcl/jsonscan"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy/handover"
)

// peer is an initialized client of the legacy era, or one without a session, which was not started.
type peer struct {
	server             *Server
	revision           mcp.Revision
	toolset            string
	info, capabilities []byte
	logLevel           atomic.Int32 // as in Caller; levelUnknown until it is read from the record of the session
	session            *session     // nil on a pair of streams, and without a session
	inflight           mcp.InflightRequests
	questions          clientRequests
	subscription       *mcp.Subscription // nil without a session
}

// CheckBatch returns the error for a batch if the revision of the client has none.
func (p *peer) CheckBatch() *mcp.Error {
	if allowsBatches(p.revision) {
		return nil
	}
	return mcp.Errorf(mcp.CodeInvalidRequest, "Revision %s does not support batches", p.revision)
}

// Initialize reads an initialize on a pair of streams and appends the reply.
func (p *peer) Initialize(dst []byte, m *mcp.Message, i *mcp.Info, ready func(*mcp.Subscription)) ([]byte, *mcp.Error) {
	if err := p.readInitialize(m); err != nil {
		return dst, err
	}
	p.subscription.Open(func() { ready(p.subscription) })
	return p.appendInitializeReply(dst, m, i, legacyCapabilities), nil
}

// RepeatInitialize appends the reply to another initialize of the same client.
func (p *peer) RepeatInitialize(dst []byte, m *mcp.Message, i *mcp.Info) []byte {
	return p.appendInitializeReply(dst, m, i, legacyCapabilities)
}

// Requests are those in progress.
func (p *peer) Requests() *mcp.InflightRequests { return &p.inflight }

// Client returns the client for one request on a pair of streams, and the caller as the Handler sees it.
func (p *peer) Client(m *mcp.Message) (mcp.LegacyClient, *mcp.Caller) {
	c := p.caller()
	return &peerRequest{peer: p, caller: c, message: m}, c
}

// Close ends the questions and the subscription of a client on a pair of streams.
func (p *peer) Close() {
	p.questions.close(mcp.ErrUnreachable)
	p.subscription.Pause()
	p.subscription.Close()
}

// readInitialize reads what the client says about itself in initialize. It keeps nothing of m.
func (p *peer) readInitialize(m *mcp.Message) *mcp.Error {
	version, invalid := mcp.StringParam("protocolVersion", m.Param("protocolVersion"))
	capabilities, info := m.Param("capabilities"), m.Param("clientInfo")
	switch {
	case invalid != nil:
		return invalid
	case capabilities != nil && !mcp.IsObject(capabilities):
		return mcp.InvalidParams("params.capabilities must be an object")
	case info != nil && !mcp.IsObject(info):
		return mcp.InvalidParams("params.clientInfo must be an object")
	case len(info)+len(capabilities) > mcp.MaxClientSize:
		return mcp.InvalidParams("params.clientInfo and params.capabilities have more than %d bytes", mcp.MaxClientSize)
	}
	p.revision, p.info, p.capabilities = negotiate(version), bytes.Clone(info), bytes.Clone(capabilities)
	return nil
}

// start prepares a new peer for requests.
func (p *peer) start() {
	p.inflight.Limit = p.server.options.CallsPerSession
	p.subscription = p.server.core.NewSubscription(p.toolset, nil)
	p.logLevel.CompareAndSwap(0, int32(defaultLogLevel))
}

// defaultLogLevel is the level of the messages that a legacy client receives that has set none.
var defaultLogLevel = slices.Index(mcp.LogLevels, "info")

const levelUnknown = -1

// level returns the level of the messages that the client receives. With several processes only the
// record of the session knows it.
func (p *peer) level(ctx context.Context) int {
	shared := p.session != nil && p.server.relay.HasOthers()
	if level := int(p.logLevel.Load()); level != levelUnknown && !shared {
		return level
	}
	return p.session.readLevel(ctx)
}

// appendInitializeReply appends the reply to initialize.
func (p *peer) appendInitializeReply(dst []byte, m *mcp.Message, i *mcp.Info, capabilities string) []byte {
	return append(appendInitializeResult(m.BeginReply(dst), i, p.revision, capabilities), '}')
}

// caller returns the peer as the Handler sees it.
func (p *peer) caller() *mcp.Caller {
	return &mcp.Caller{
		Revision: p.revision, Toolset: p.toolset, ClientInfo: p.info, Capabilities: p.capabilities,
	}
}

// subscribeLists subscribes the client to all lists.
func (p *peer) subscribeLists() {
	p.subscription.SubscribeAllLists()
}

// Resolve delivers a response of the client.
func (p *peer) Resolve(m *mcp.Message) {
	id, _ := jsonscan.Text(m.ID)
	p.questions.resolve(id, handover.NewResponse(m.Result, m.Failure))
}

// HandleNotification acts on a notification of the client. It reports false if it is about a request that
// is not in progress here.
func (p *peer) HandleNotification(m *mcp.Message) (here bool) {
	switch string(m.Method) {
	case "notifications/initialized":
		if p.subscription != nil {
			p.subscribeLists()
		}
	case "notifications/cancelled":
		return p.inflight.Cancel(m.Param("requestId"), mcp.ErrCancelled)
	}
	return true
}

// update serves the methods that change a session.
func (c *peerRequest) update(ctx context.Context) *mcp.Error {
	p, core := c.peer, c.peer.server.core
	if string(c.message.Method) == "logging/setLevel" {
		return p.setLevel(ctx, c.message)
	}
	uri, invalid := mcp.StringParam("uri", c.message.URI)
	if invalid != nil {
		return invalid
	}
	unsubscribes := string(c.message.Method) == "resources/unsubscribe"
	var err error
	switch {
	case unsubscribes && p.session != nil: // succeeds without a subscription, too
		err = p.session.unsubscribe(ctx, uri)
	case unsubscribes:
		p.subscription.RemoveResource(uri)
	case p.session != nil:
		err = p.session.subscribe(ctx, c.caller, uri)
	default:
		err = p.subscription.AddResource(ctx, c.caller, uri)
	}
	if err != nil {
		return core.ProtocolError(ctx, c.message, err)
	}
	return nil
}

func (p *peer) setLevel(ctx context.Context, m *mcp.Message) *mcp.Error {
	level := mcp.ParseLogLevel(m.Param("level"))
	if level == 0 {
		return mcp.InvalidParams("params.level must be one of %s", strings.Join(mcp.LogLevels[1:], ", "))
	}
	if p.session != nil {
		if err := p.session.saveLevel(ctx, mcp.LogLevels[level]); err != nil {
			return p.server.core.ProtocolError(ctx, m, err)
		}
	}
	p.logLevel.Store(int32(level))
	return nil
}
