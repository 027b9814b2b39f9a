package crowd

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"time"
)

// listenIn is a listener that stays for a while. Some end their session in form, some go without a word, and some stop reading long before.
func (s *soak) listenIn(ctx context.Context) error {
	l := s.world.newListener(rand.IntN(1 << 20))
	s.language.Lock() // what it wants to hear of is there
	stream, err := l.begin(ctx, s.host)
	s.language.Unlock()
	defer l.close()
	if err != nil {
		return err
	}
	until := time.Now().Add(time.Duration(rand.IntN(4000)) * time.Millisecond)
	reads := rand.IntN(4) > 0
	if !reads {
		s.tally.add("a listener read nothing")
		pause(ctx, time.Until(until))
		return nil
	}
	l.net.SetReadDeadline(until)
	for {
		frame, err := stream.next()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		} else if err != nil {
			return err
		}
		if _, err := l.told(frame); err != nil {
			s.faults.add("a listener was told something strange", "%v", err)
		}
		s.tally.add("a listener was told")
	}
	s.tally.add("a listener came and went")
	if rand.IntN(2) == 0 {
		return nil
	}
	over := &client{host: s.host, era: l.era}
	if err := over.connect(ctx); err != nil {
		return err
	}
	defer over.close()
	return l.leave(over)
}

// stall is a client that stops half-way: in the middle of what it sends, or before it has read what it asked for. It is gone after a while.
func (s *soak) stall(ctx context.Context) error {
	conn, err := reach(ctx, s.host)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	c := &client{host: s.host, era: modern, can: everything, net: conn}
	q := request{method: "tools/list"}
	raw := c.raw(c.message(q, "1"), q)
	if rand.IntN(2) == 0 {
		raw = raw[:rand.IntN(len(raw))]
	} else {
		for range rand.IntN(50) { // one after the other on one connection, and no answer is read
			raw += c.raw(c.message(q, "1"), q)
		}
	}
	conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
	conn.Write([]byte(raw)) // the server may well have had enough
	s.tally.add("a client stalled")
	pause(ctx, time.Duration(rand.IntN(3000))*time.Millisecond)
	return nil
}
