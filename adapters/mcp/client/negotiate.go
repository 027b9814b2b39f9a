package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"hatchel/hcl/jsonscan"
)

// revision20241105 is accepted from programs that know no later one. Its transport over HTTP is not offered.
const revision20241105 = "2024-11-05"

// initialized are the revisions that initialize may agree on, the best one first.
var initialized = []string{Revision20251125, Revision20250618, Revision20250326, revision20241105}

// probeTime is how long server/discover may take before initialize is tried, because some programs ignore requests
// that they do not know.
const probeTime = 5 * time.Second

// Open begins a session: it negotiates the revision and declares what the options say. The error is an [*Error] or
// ErrDiscoverEnded. The session outlives ctx, whose values it keeps for requests outside of calls.
func Open(ctx context.Context, t Transport, o Options) (*Session, error) {
	o.Name, o.Version = cmp.Or(o.Name, "hatchel"), cmp.Or(o.Version, "0")
	o.MaxMessage = cmp.Or(o.MaxMessage, DefaultMaxMessage)
	s := &Session{
		options: o, done: make(chan struct{}), replies: make(chan struct{}, maxReplies),
		open: map[*exchange]context.CancelCauseFunc{}, asked: map[string]*question{},
		level: o.LogLevel,
	}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	var err error
	if s.conn, err = t.connect(s); err != nil {
		s.cancel()
		return nil, &Error{Kind: NotSent, Err: err}
	}
	if err := s.negotiate(ctx); err != nil {
		s.Close()
		return nil, err
	}
	o.Memory.set(s.revision)
	if s.lists && o.Changed != nil || len(o.Asks) > 0 && !s.modern {
		s.goWhileOpen(s.conn.listen)
	}
	return s, nil
}

// negotiate finds the revision and begins the session with it.
func (s *Session) negotiate(ctx context.Context) error {
	fixed := s.options.Protocol
	if fixed != "" && fixed != Revision20260728 && !slices.Contains(initialized, fixed) {
		return &Error{Kind: NotSent, Err: fmt.Errorf("the revision %q of the protocol is not supported", fixed)}
	}
	wanted := cmp.Or(fixed, s.options.Memory.get())
	if wanted != "" && wanted != Revision20260728 {
		err := s.initialize(ctx, wanted)
		if err != nil {
			s.options.Memory.forget()
		}
		return err
	}
	if fixed != "" {
		_, err := s.discover(ctx)
		return err
	}
	probe, cancel := context.WithTimeout(ctx, probeTime)
	offered, err := s.discover(probe)
	if err != nil && offered == Revision20260728 {
		_, err = s.discover(probe)
	}
	cancel()
	late := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
	if err == nil {
		return nil
	}
	select {
	case <-s.done:
		if e, ok := errors.AsType[*Error](err); ok && e.Kind == Unknown {
			s.options.Memory.set(Revision20251125)
			return ErrDiscoverEnded
		}
		return err
	default:
	}
	if !late && !isOld(err) || offered == Revision20260728 || ctx.Err() != nil {
		return err
	}
	s.meta = nil
	err = s.initialize(ctx, offered)
	if e, ok := errors.AsType[*Error](err); ok && late && e.Kind == Rejected {
		if _, again := s.discover(ctx); again == nil {
			return nil
		}
	}
	return err
}

// isOld reports whether an error of server/discover is one of a server that does not know it.
func isOld(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	switch e.Kind {
	case Rejected, Invalid, Unknown:
		return true
	case Status:
		switch e.Status {
		case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
			http.StatusNotAcceptable, http.StatusConflict, http.StatusUnsupportedMediaType,
			http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusNotImplemented:
			return true
		}
	}
	return false
}

// discover asks for the capabilities by server/discover. With an error it returns the revision to begin with: by
// initialize, or by server/discover again if the server has refused 2026-07-28 and says that it supports it.
func (s *Session) discover(ctx context.Context) (offered string, err error) {
	s.meta = append([]byte(`"io.modelcontextprotocol/protocolVersion":"`), Revision20260728...)
	s.meta = append(s.clientInfo(append(s.meta, `","io.modelcontextprotocol/clientInfo":`...)),
		`,"io.modelcontextprotocol/clientCapabilities":`...)
	s.meta = s.appendCapabilities(s.meta)
	m, err := s.do(ctx, s.newExchange("server/discover", nil))
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok && e.RPC != nil {
			if supported, ok := jsonscan.Lookup(e.RPC.Data, "supported"); ok {
				if slices.Contains(texts(supported), Revision20260728) {
					return Revision20260728, err
				}
				return best(supported), err
			}
		}
		return Revision20251125, err
	}
	versions := m.members.Get("supportedVersions")
	if !slices.Contains(texts(versions), Revision20260728) {
		return best(versions), invalid("the server does not support %s", Revision20260728)
	}
	s.revision, s.modern = Revision20260728, true
	s.conn.negotiated(s.revision)
	info, ok := jsonscan.Lookup(m.members.Get("_meta"), "io.modelcontextprotocol/serverInfo")
	if !ok {
		info = m.members.Get("serverInfo")
	}
	s.keepServer(m, info)
	return s.revision, nil
}

// best returns the best of the revisions in a raw array that initialize may agree on.
func best(versions []byte) string {
	known := texts(versions)
	for _, revision := range initialized {
		if slices.Contains(known, revision) {
			return revision
		}
	}
	return Revision20251125
}

// texts returns the strings of a raw array.
func texts(array []byte) (list []string) {
	each(array, func(value []byte) bool {
		if text, ok := jsonscan.Text(value); ok {
			list = append(list, text)
		}
		return len(list) < 64
	})
	return list
}

// each calls do for each element of a raw array that was scanned, until it returns false. It reports false if the
// value is no array.
func each(array []byte, do func(value []byte) bool) bool {
	s := jsonscan.New(array, len(array))
	if s.Peek() != '[' || s.EnterArray() != nil {
		return false
	}
	for {
		more, err := s.NextElement()
		if err != nil || !more {
			return err == nil
		}
		value, err := s.Value()
		if err != nil {
			return false
		}
		if !do(value) {
			return true
		}
	}
}

// initialize begins a session of a revision up to 2025-11-25.
func (s *Session) initialize(ctx context.Context, revision string) error {
	params := append([]byte(`"protocolVersion":"`), revision...)
	params = s.appendCapabilities(append(params, `","capabilities":`...))
	params = s.clientInfo(append(params, `,"clientInfo":`...))
	m, err := s.do(ctx, s.newExchange("initialize", params))
	if err != nil {
		return err
	}
	agreed := m.text("protocolVersion")
	if !slices.Contains(initialized, agreed) || s.options.Protocol != "" && agreed != s.options.Protocol {
		return invalid("the server speaks the revision %q of the protocol, which is not supported here",
			jsonscan.Excerpt(agreed))
	}
	s.revision, s.modern = agreed, false
	s.conn.negotiated(agreed)
	s.keepServer(m, m.members.Get("serverInfo"))
	if err := s.send(ctx, append(beginRequest(nil, "", "notifications/initialized"), '}')); err != nil {
		return err
	}
	if level := s.currentLogLevel(); s.logs && level != "" {
		return s.sendLogLevel(ctx, level)
	}
	return nil
}

// sendLogLevel asks a server up to 2025-11-25 for log messages from a level on. A server may refuse that.
func (s *Session) sendLogLevel(ctx context.Context, level string) error {
	_, err := s.do(ctx, s.newExchange("logging/setLevel", jsonscan.AppendString([]byte(`"level":`), level)))
	if e, ok := errors.AsType[*Error](err); ok && e.Kind != Rejected {
		return err
	}
	return nil
}

func (s *Session) currentLogLevel() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level
}

// SetLogLevel asks the server for log messages from another level on than before, as Options.LogLevel does. It returns
// when a server up to 2025-11-25 has answered, or could have: a call that follows fails if the session has ended.
func (s *Session) SetLogLevel(ctx context.Context, level string) {
	s.mu.Lock()
	isSame := s.level == level
	s.level = level
	s.mu.Unlock()
	if isSame || s.modern || !s.logs || level == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	_ = s.sendLogLevel(ctx, level)
}

const maxInstructions = 64 << 10 // bytes that are kept

// keepServer notes what a server says of itself.
func (s *Session) keepServer(m *message, info []byte) {
	s.name, _ = jsonscan.LookupText(info, "name")
	s.version, _ = jsonscan.LookupText(info, "version")
	if text := m.text("instructions"); len(text) <= maxInstructions {
		s.instructions = text
	}
	capabilities := m.members.Get("capabilities")
	changes, _ := jsonscan.Lookup(capabilities, "tools", "listChanged")
	s.lists = string(changes) == "true"
	_, s.logs = jsonscan.Lookup(capabilities, "logging")
}

// clientInfo appends which program this is.
func (s *Session) clientInfo(dst []byte) []byte {
	dst = jsonscan.AppendString(append(dst, `{"name":`...), s.options.Name)
	dst = jsonscan.AppendString(append(dst, `,"version":`...), s.options.Version)
	return append(dst, '}')
}

// appendCapabilities appends what the server may ask.
func (s *Session) appendCapabilities(dst []byte) []byte {
	asks := func(kind string) bool { return slices.Contains(s.options.Asks, kind) }
	dst = append(dst, '{')
	form, page := asks(AskForm), asks(AskPage)
	switch {
	case form && page:
		dst = append(dst, `"elicitation":{"form":{},"url":{}},`...)
	case form:
		dst = append(dst, `"elicitation":{"form":{}},`...)
	case page:
		dst = append(dst, `"elicitation":{"url":{}},`...)
	}
	if asks(AskSampling) {
		dst = append(dst, `"sampling":{},`...)
	}
	if s.options.Roots != nil {
		dst = append(dst, `"roots":{},`...)
	}
	if dst[len(dst)-1] == ',' {
		dst = dst[:len(dst)-1]
	}
	return append(dst, '}')
}
