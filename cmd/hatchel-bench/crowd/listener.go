package crowd

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// listener is a client that hears of some topics. What it knows of each is the revision that it read last, and it reads again only because it was
// told that the topic has changed.
type listener struct {
	*client
	follows []*topic

	mu    sync.Mutex
	known []int // by topic; guarded by mu
}

// newListener makes the nth of many: of either era, one in four over a toolset. Everybody follows a page and either the notice or the board.
func (w *world) newListener(n int) *listener {
	l := &listener{client: &client{era: eras[n%2], can: nothing}}
	if n/2%4 == 0 {
		l.toolset = "office"
	}
	names := []string{fmt.Sprintf("load://page/%d", n/8%pageCount), []string{"load://notice", "load://board"}[n/3%2]}
	for i, kind := range []string{"tools", "prompts", "resources"} {
		if l.era == legacy || n/2%3 != i { // who subscribes may leave a list out
			names = append(names, kind)
		}
	}
	for _, name := range names {
		l.follows = append(l.follows, w.topics[l.toolset+" "+name])
	}
	l.known = make([]int, len(l.follows))
	return l
}

// begin opens the stream on which the listener hears. When it returns, everything that changes from now on is due.
func (l *listener) begin(ctx context.Context, host string) (*events, error) {
	l.host = host
	if err := l.connect(ctx); err != nil {
		return nil, err
	}
	l.net.SetDeadline(time.Now().Add(patience))
	open := l.subscribe
	if l.era == legacy {
		open = l.attach
	}
	res, err := open()
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return nil, fmt.Errorf("listening was answered %s", res.Status)
	}
	e := newEvents(res.Body)
	if l.era == modern {
		if err := l.acknowledged(e); err != nil {
			return nil, err
		}
	}
	return e, l.net.SetDeadline(time.Time{})
}

// attach opens a session, subscribes to its documents and follows its events.
func (l *listener) attach() (*http.Response, error) {
	if err := l.open(); err != nil {
		return nil, err
	}
	for _, t := range l.follows {
		if t.uri == "" {
			continue
		}
		if _, err := l.must(request{method: "resources/subscribe", name: t.uri, params: fmt.Sprintf(`"uri":%q`, t.uri)}); err != nil {
			return nil, err
		}
	}
	return l.exchange("GET " + l.path() + " HTTP/1.1\r\nHost: " + l.host + "\r\nAccept: text/event-stream\r\nMCP-Protocol-Version: " + string(l.era) +
		"\r\nMcp-Session-Id: " + l.session + "\r\n\r\n")
}

// subscribe is attach for the modern era.
func (l *listener) subscribe() (*http.Response, error) {
	var wishes, uris []string
	for _, t := range l.follows {
		if t.uri != "" {
			uris = append(uris, fmt.Sprintf("%q", t.uri))
		}
		for _, list := range lists {
			if t.method == list.method {
				wishes = append(wishes, fmt.Sprintf("%q:true", list.wish))
			}
		}
	}
	wishes = append(wishes, `"resourceSubscriptions":[`+strings.Join(uris, ",")+`]`)
	q := request{method: "subscriptions/listen", params: `"notifications":{` + strings.Join(wishes, ",") + `}`}
	return l.post(l.message(q, `"listen"`), q)
}

// acknowledged reads the first message of a subscription, which must promise all that was asked for.
func (l *listener) acknowledged(e *events) error {
	frame, err := e.next()
	if err != nil {
		return err
	}
	var m struct {
		Method string
		Params struct {
			Notifications map[string]any
		}
	}
	if err := json.Unmarshal(frame, &m); err != nil || m.Method != "notifications/subscriptions/acknowledged" {
		return fmt.Errorf("the first message of a subscription is %.300s", frame)
	}
	uris, _ := m.Params.Notifications["resourceSubscriptions"].([]any)
	if n := len(m.Params.Notifications) - 1 + len(uris); n != len(l.follows) {
		return fmt.Errorf("of %d wishes %d are granted: %.300s", len(l.follows), n, frame)
	}
	return nil
}

// told finds the topic that a notification is about; -1 when the listener does not follow it.
func (l *listener) told(frame []byte) (int, error) {
	var m struct {
		Method string
		Params struct{ URI string }
	}
	if err := json.Unmarshal(frame, &m); err != nil {
		return 0, fmt.Errorf("%w in %.300s", err, frame)
	}
	for i, t := range l.follows {
		if t.method == m.Method && t.uri == m.Params.URI {
			return i, nil
		}
	}
	return -1, fmt.Errorf("told of what it does not follow: %.300s", frame)
}

// learn takes what was read after the listener had been told, and returns the moments in which what is new to it had been made.
func (l *listener) learn(topic, revision int) (news []time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if revision <= l.known[topic] {
		return nil
	}
	news = l.follows[topic].since(l.known[topic], revision)
	l.known[topic] = revision
	return news
}

// missing is how many revisions the listener does not know that it should.
func (l *listener) missing() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, t := range l.follows {
		n += t.revision() - l.known[i]
	}
	return n
}
