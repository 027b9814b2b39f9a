package crowd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// client is one connection of one client. It speaks HTTP by hand, because there are thousands of it beside the server on one machine, and
// because it must be able to break off anywhere. It serves one goroutine at a time.
type client struct {
	host    string
	toolset string
	era     era
	can     string                                    // the capabilities it declares, as JSON
	session string                                    // of the legacy era
	asked   func(method string, params []byte) string // the member "result" or "error" that answers a question of the legacy era; empty to go away

	net  net.Conn
	in   *bufio.Reader
	side *client // where a question is answered while the connection waits for the reply
	next int
}

// request is one request: its method, the name that is also in a header, and the members of its parameters as JSON.
type request struct {
	method, name, params string
	headers              string // whole lines
	talk                 bool   // the server may tell of progress, and what it logs
}

// reply is what came back.
type reply struct {
	status  int
	Result  json.RawMessage
	Failure *failure `json:"error"`
	told    int      // messages that came before
}

type failure struct {
	Code    int
	Message string
	Data    json.RawMessage
}

func (f *failure) Error() string { return fmt.Sprintf("%d: %s", f.Code, f.Message) }

const nothing = "{}"

// dial connects, and in the legacy era opens a session.
func dial(ctx context.Context, host, toolset string, e era, can string) (*client, error) {
	c := &client{host: host, toolset: toolset, era: e, can: can}
	if err := c.connect(ctx); err != nil || e == modern {
		return c, err
	}
	return c, c.open()
}

func (c *client) connect(ctx context.Context) error {
	conn, err := reach(ctx, c.host)
	if err != nil {
		return err
	}
	c.net, c.in = conn, bufio.NewReaderSize(conn, 2<<10)
	return nil
}

// reach connects to a server on this machine, which is not given up because ctx ends meanwhile: that would look like a server that does not answer.
func reach(ctx context.Context, host string) (net.Conn, error) {
	return (&net.Dialer{Timeout: patience}).DialContext(context.WithoutCancel(ctx), "tcp", host)
}

func (c *client) open() error {
	res, err := c.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+string(c.era)+`","capabilities":`+c.can+
		`,"clientInfo":{"name":"crowd","version":"1"}}}`, request{})
	if err != nil {
		return err
	}
	c.session = res.Header.Get("Mcp-Session-Id")
	if r, err := c.reply(res); err != nil || r.Result == nil || c.session == "" {
		return fmt.Errorf("initialize was answered %+v: %w", r, err)
	}
	return c.notify("notifications/initialized", "")
}

// close breaks the connection off.
func (c *client) close() {
	if c.net != nil {
		c.net.Close()
	}
	if c.side != nil {
		c.side.close()
	}
}

// leave ends the session in form, over whatever connection is free.
func (c *client) leave(over *client) error {
	if c.session == "" {
		return nil
	}
	head := "DELETE " + c.path() + " HTTP/1.1\r\nHost: " + c.host + "\r\nMCP-Protocol-Version: " + string(c.era) + "\r\nMcp-Session-Id: " + c.session + "\r\n\r\n"
	res, err := over.exchange(head)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("DELETE of a session was answered %s", res.Status)
	}
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

func (c *client) path() string {
	if c.toolset == "" {
		return "/mcp"
	}
	return "/mcp/" + c.toolset
}

// do sends a request and waits for its reply. What is asked meanwhile is answered.
func (c *client) do(q request) (*reply, error) {
	c.net.SetDeadline(time.Now().Add(patience))
	c.next++
	res, err := c.post(c.message(q, strconv.Itoa(c.next)), q)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q.method, err)
	}
	r, err := c.reply(res)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q.method, err)
	}
	return r, nil
}

// must is do where an error of the protocol is one.
func (c *client) must(q request) (json.RawMessage, error) {
	r, err := c.do(q)
	switch {
	case err != nil:
		return nil, err
	case r.Failure != nil:
		return nil, fmt.Errorf("%s %s: %w", q.method, q.name, r.Failure)
	}
	return r.Result, nil
}

func (c *client) notify(method, params string) error {
	return c.tell(`{"jsonrpc":"2.0","method":"` + method + `","params":{` + params + `}}`)
}

// tell sends a message that has no reply.
func (c *client) tell(message string) error {
	res, err := c.post(message, request{})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("%.80s was answered %s", message, res.Status)
	}
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// message is the request as JSON.
func (c *client) message(q request, id string) string {
	var meta []string
	if q.talk {
		meta = append(meta, `"progressToken":`+id)
	}
	if c.era == modern {
		meta = append(meta, `"io.modelcontextprotocol/protocolVersion":"`+string(modern)+`","io.modelcontextprotocol/clientCapabilities":`+c.can)
		if q.talk {
			meta = append(meta, `"io.modelcontextprotocol/logLevel":"debug"`)
		}
	}
	params := q.params
	if len(meta) > 0 && params != "" {
		params = "," + params
	}
	if len(meta) > 0 {
		params = `"_meta":{` + strings.Join(meta, ",") + "}" + params
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + q.method + `","params":{` + params + `}}`
}

// post sends a message and returns the head of the response.
func (c *client) post(message string, q request) (*http.Response, error) {
	return c.exchange(c.raw(message, q))
}

// raw is a message as it goes over the wire.
func (c *client) raw(message string, q request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n", c.path(), c.host)
	c.headers(&b, q)
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(message), message)
	return b.String()
}

func (c *client) headers(b *strings.Builder, q request) {
	if c.era == modern {
		fmt.Fprintf(b, "MCP-Protocol-Version: %s\r\nMcp-Method: %s\r\n", modern, q.method)
		if q.name != "" {
			fmt.Fprintf(b, "Mcp-Name: %s\r\n", q.name)
		}
		b.WriteString(q.headers)
		return
	}
	if c.session != "" {
		fmt.Fprintf(b, "MCP-Protocol-Version: %s\r\nMcp-Session-Id: %s\r\n", c.era, c.session)
	}
}

func (c *client) exchange(raw string) (*http.Response, error) {
	if _, err := io.WriteString(c.net, raw); err != nil {
		return nil, err
	}
	return http.ReadResponse(c.in, nil)
}

var errNoReply = errors.New("the stream ended without a reply")

// reply reads a response to its end.
func (c *client) reply(res *http.Response) (*reply, error) {
	defer res.Body.Close()
	r := &reply{status: res.StatusCode}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		body, err := io.ReadAll(res.Body)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(body, r); err != nil || r.Result == nil && r.Failure == nil {
			return nil, fmt.Errorf("%s: %.300s", res.Status, body)
		}
		return r, nil
	}
	events := newEvents(res.Body)
	for {
		frame, err := events.next()
		if err == io.EOF && (r.Result != nil || r.Failure != nil) {
			return r, nil
		} else if err == io.EOF && events.last != "" {
			return c.resume(events.last)
		} else if err == io.EOF {
			return nil, errNoReply
		} else if err != nil {
			return nil, err
		}
		if err := c.take(r, frame); err != nil {
			return nil, err
		}
	}
}

// resume comes back for the reply after the server has let go of the connection.
func (c *client) resume(last string) (*reply, error) {
	c.net.Close()
	if err := c.connect(context.Background()); err != nil {
		return nil, err
	}
	c.net.SetDeadline(time.Now().Add(patience))
	res, err := c.exchange("GET " + c.path() + " HTTP/1.1\r\nHost: " + c.host + "\r\nAccept: text/event-stream\r\nMCP-Protocol-Version: " + string(c.era) +
		"\r\nMcp-Session-Id: " + c.session + "\r\nLast-Event-ID: " + last + "\r\n\r\n")
	if err != nil {
		return nil, err
	}
	return c.reply(res)
}

// take reads one message that came on the stream of a request.
func (c *client) take(r *reply, frame []byte) error {
	var m struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	if err := json.Unmarshal(frame, &m); err != nil {
		return fmt.Errorf("%w in %.300s", err, frame)
	}
	switch {
	case m.Method == "":
		return json.Unmarshal(frame, r)
	case m.ID == nil:
		r.told++
		return nil
	case c.era == modern || c.asked == nil:
		return fmt.Errorf("a request came on the stream: %.300s", frame)
	}
	answer := c.asked(m.Method, m.Params)
	if answer == "" {
		c.net.Close() // or what follows would be waited for
		return errAbandoned
	}
	if c.side == nil {
		c.side = &client{host: c.host, toolset: c.toolset, era: c.era, session: c.session}
		if err := c.side.connect(context.Background()); err != nil {
			return err
		}
	}
	return c.side.tell(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + answer + `}`)
}

// errAbandoned is why a client goes away without the answer it owes.
var errAbandoned = errors.New("the client has gone away")
