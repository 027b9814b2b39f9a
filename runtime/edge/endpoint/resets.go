//lint:file-ignore SA1019 the server of package net/http gives nobody the frames of its connections

package endpoint

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/http2"
)

// A request that is reset is no longer one of the concurrent streams of its connection, though its handler may still
// run, so that a client can cause any amount of work with one connection: by resetting its requests (CVE-2023-44487),
// or by frames for which the server resets them (CVE-2025-8671). The server of package net/http bounds the handlers of
// a connection, not the rate.
const (
	maxResets = 100 // at once
	resetRate = 100 // in each second
)

var errTooManyResets = errors.New("too many streams of the connection were reset")

// LimitResets has a server close each HTTP/2 connection whose streams are reset more often than maxResets and resetRate
// allow, by the client or because of what it sends. It logs each of them, and calls closed. It must be called before
// the server serves.
func LimitResets(server *http.Server, log *slog.Logger, closed func()) {
	config := &http2.Server{}
	if err := http2.ConfigureServer(server, config); err != nil {
		panic(err) // only for a TLS configuration, which the server has not
	}
	server.TLSNextProto[http2.NextProtoTLS] = func(server *http.Server, conn *tls.Conn, handler http.Handler) {
		counted := &resetConn{Conn: conn, log: log, closed: closed, tokens: maxResets, last: time.Now()}
		counted.in.skip = len(http2.ClientPreface)
		options := &http2.ServeConnOpts{Handler: handler, BaseConfig: server}
		if h, ok := handler.(interface{ BaseContext() context.Context }); ok { // of package net/http
			options.Context = h.BaseContext()
		}
		config.ServeConn(counted, options)
	}
}

// resetConn counts the resets of streams in both directions of an HTTP/2 connection.
type resetConn struct {
	*tls.Conn
	log     *slog.Logger
	closed  func()
	in, out frames

	mu     sync.Mutex
	tokens float64   // resets that are allowed now; guarded by mu
	last   time.Time // when tokens was computed; guarded by mu
	over   bool      // guarded by mu
}

// Read implements net.Conn.
func (c *resetConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if resets := c.in.countResets(p[:n], func(http2.ErrCode) bool { return true }); !c.allow(resets) {
		return 0, errTooManyResets
	}
	return n, err
}

// Write implements net.Conn. A reset without an error ends a request whose body the handler did not read.
func (c *resetConn) Write(p []byte) (int, error) {
	resets := c.out.countResets(p, func(code http2.ErrCode) bool { return code != http2.ErrCodeNo })
	if !c.allow(resets) {
		return 0, errTooManyResets
	}
	return c.Conn.Write(p)
}

// allow counts resets. It closes the connection and returns false when there are too many.
func (c *resetConn) allow(resets int) bool {
	if resets == 0 {
		return true
	}
	c.mu.Lock()
	now := time.Now()
	c.tokens = min(maxResets, c.tokens+resetRate*now.Sub(c.last).Seconds()) - float64(resets)
	c.last = now
	first := c.tokens < 0 && !c.over
	c.over = c.over || first
	over := c.over
	c.mu.Unlock()
	if first {
		c.log.Warn("HTTP/2 connection closed for resets of its streams", "remote", c.RemoteAddr().String(),
			"limit", fmt.Sprintf("%d at once, %d per second", maxResets, resetRate))
		c.closed()
		_ = c.NetConn().Close() // without the alert of TLS, for which a client might not wait
	}
	return !over
}

// frameHeader is the size of the header of a frame.
const frameHeader = 9

// frames follows the frames of one direction of a connection.
type frames struct {
	skip   int // bytes before the next header
	header [frameHeader + 4]byte
	have   int // bytes of header
}

// countResets returns how many of the resets count that are complete with the next bytes of the stream.
func (f *frames) countResets(p []byte, counts func(http2.ErrCode) bool) (resets int) {
	for len(p) > 0 {
		if f.skip > 0 {
			n := min(f.skip, len(p))
			f.skip, p = f.skip-n, p[n:]
			continue
		}
		need := frameHeader
		if f.have >= frameHeader { // the code of a reset follows
			need = len(f.header)
		}
		n := copy(f.header[f.have:need], p)
		f.have, p = f.have+n, p[n:]
		if f.have < need {
			return resets
		}
		size := int(f.header[0])<<16 | int(f.header[1])<<8 | int(f.header[2])
		isReset := http2.FrameType(f.header[3]) == http2.FrameRSTStream && size == 4
		switch {
		case !isReset:
			f.skip, f.have = size, 0
		case f.have == len(f.header):
			if counts(http2.ErrCode(binary.BigEndian.Uint32(f.header[frameHeader:]))) {
				resets++
			}
			f.have = 0
		}
	}
	return resets
}
