package mcp

import (
	"bytes"
	"sync"
	"time"
)

// stdioClient is the client of a pair of streams, from the first line or from an initialize on, until it sends another
// initialize with other parameters.
type stdioClient struct {
	conn     *stdioConn
	inflight InflightRequests // of the modern era

	// After initialize, and guarded by processing of conn.
	peer       LegacyPeer // nil before
	began      time.Time
	parameters []byte // of initialize

	mu        sync.Mutex
	listeners map[string]*Subscription // by id as sent; guarded by mu

	writing sync.RWMutex // read-locked while a message is written
	left    bool         // nothing more is written; guarded by writing
}

func newStdioClient(c *stdioConn) *stdioClient {
	return &stdioClient{
		conn: c, inflight: InflightRequests{Limit: c.server.options.CallsPerSession},
		listeners: make(map[string]*Subscription),
	}
}

// StartKeepAlive does nothing: the streams need none.
func (c *stdioClient) StartKeepAlive() {}

// Notify writes a message, unless the client has left.
func (c *stdioClient) Notify(frame []byte) {
	c.writing.RLock()
	defer c.writing.RUnlock()
	if !c.left {
		c.conn.writer.writeLine(frame)
	}
}

// cancel serves notifications/cancelled of both eras.
func (c *stdioClient) cancel(id []byte) {
	c.inflight.Cancel(id, ErrCancelled)
	c.removeListener(id, nil)
	if c.peer != nil {
		c.peer.Requests().Cancel(id, ErrCancelled)
	}
}

// leave ends the requests, the questions and the subscriptions of an initialized client without a reply: the next one
// uses their ids again.
func (c *stdioClient) leave() {
	c.writing.Lock()
	c.left = true
	c.writing.Unlock()
	c.inflight.CancelAll(ErrCancelled)
	c.peer.Requests().CancelAll(ErrCancelled)
	for _, l := range c.takeListeners() {
		l.cancel()
		l.Pause()
		l.Close()
	}
	c.closePeer()
}

// closePeer ends what an initialized client has.
func (c *stdioClient) closePeer() {
	if c.peer != nil {
		c.peer.Close()
		c.conn.server.ObserveEnd(false, c.began)
	}
}

// initializeParameters returns a copy of what initialize says of the client.
func initializeParameters(m *Message) []byte {
	members := [][]byte{m.Param("protocolVersion"), m.Param("capabilities"), m.Param("clientInfo")}
	return bytes.Join(members, []byte{'\n'})
}
