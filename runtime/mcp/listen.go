package mcp

import (
	"bytes"
	"net/http"
	"time"
)

// subscription is what a subscriptions/listen has been promised.
type subscription struct {
	id    []byte // of the request, as sent
	tools bool
}

// subscribe reads what a client wants to listen to.
func subscribe(m *message) (*subscription, *Error) {
	if m.notifications == nil || m.notifications[0] != '{' {
		return nil, errorf(CodeInvalidParams, "params.notifications must be an object")
	}
	u := &subscription{id: bytes.Clone(m.id)}
	if wants, ok := lookup(m.notifications, "toolsListChanged"); ok {
		u.tools = string(wants) == "true"
		if !u.tools && string(wants) != "false" {
			return nil, errorf(CodeInvalidParams, "params.notifications.toolsListChanged must be true or false")
		}
	}
	return u, nil
}

// acknowledged is the first message of the subscription.
func (u *subscription) acknowledged() []byte {
	dst := u.open("notifications/subscriptions/acknowledged")
	if u.tools {
		return append(dst, `,"notifications":{"toolsListChanged":true}}}`...)
	}
	return append(dst, `,"notifications":{}}}`...)
}

// changed is the message that the tools read differently now.
func (u *subscription) changed() []byte {
	return append(u.open("notifications/tools/list_changed"), "}}"...)
}

func (u *subscription) open(method string) []byte {
	dst := append(append([]byte(`{"jsonrpc":"2.0","method":"`), method...), `","params":{"_meta":{"`+keySubscriptionID+`":`...)
	return append(append(dst, u.id...), '}')
}

// ended is the reply to subscriptions/listen, which is due when the server has no more to tell.
func (u *subscription) ended(i *Info) []byte {
	dst := append(append([]byte(`{"jsonrpc":"2.0","id":`), u.id...), `,"result":{"resultType":"complete","_meta":{"`+keySubscriptionID+`":`...)
	return append(i.appendServerInfo(append(append(dst, u.id...), ',')), "}}}"...)
}

// httpListener follows a subscription on the answer to a POST.
type httpListener struct {
	*subscription
	queue chan []byte
	lost  chan struct{} // closed when the queue was full, so the client must come again and look
}

// toolsChanged is never called by two goroutines at once.
func (l *httpListener) toolsChanged() {
	if !l.tools {
		return
	}
	select {
	case l.queue <- l.changed():
	default:
		select {
		case <-l.lost:
		default:
			close(l.lost)
		}
	}
}

// listenHTTP serves a subscription until the client goes away, falls behind, or the server shuts down.
func (s *Server) listenHTTP(x *exchange, m *message) {
	if !x.accepts.events {
		refuse(x.w, http.StatusNotAcceptable, "The Accept header must allow text/event-stream")
		return
	}
	u, err := subscribe(m)
	if err != nil {
		x.fail(err, m.id)
		return
	}
	if !s.waits.enter() {
		x.fail(errorf(CodeBusy, "Too many subscriptions at once. Try again shortly"), m.id)
		return
	}
	defer s.waits.leave()
	l := &httpListener{u, make(chan []byte, 16), make(chan struct{})}
	s.join(l)
	defer s.part(l)
	x.notify(u.acknowledged())
	if u.tools && !s.follow(x, l) {
		return
	}
	x.finish(u.ended(s.handler.Info("")), http.StatusOK)
}

// follow sends what is queued, and reports whether the subscription is to be ended in form.
func (s *Server) follow(x *exchange, l *httpListener) bool {
	alive := time.NewTicker(s.options.KeepAlive)
	defer alive.Stop()
	for {
		var err error
		select {
		case frame := <-l.queue:
			err = s.send(x.w, event{frame: frame}.append(nil))
		case <-alive.C:
			err = s.send(x.w, []byte(": keep-alive\n\n"))
		case <-l.lost:
			return true
		case <-s.closing:
			return true
		case <-x.r.Context().Done():
			return false
		}
		if err != nil {
			return false
		}
	}
}
