package state

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"time"

	"hatchel/internal/operator"
)

const (
	messageIDSize = 8
	maxMessage    = maxSealedItems - maxItemHeader - messageIDSize // in an envelope; a larger one is stored

	ackPause    = 200 * time.Millisecond // between two looks for the receiver
	ackLooks    = 5                      // before a stored message is written
	absentLooks = 3                      // that do not find the receiver, until there is none

	storedMessageKind = "letter" // of records of messages that were not acknowledged
	storedMessageTTL  = 10 * time.Minute
	maxStoredMessages = 100 // read at once
)

// errNotAcknowledged is why awaitAck stops waiting for a process that exists.
var errNotAcknowledged = errors.New("the message was not acknowledged")

// Name implements Courier.
func (p *Postgres) Name() string { return p.name }

// Processes implements Courier.
func (p *Postgres) Processes() int { return int(max(p.listener.processes.Load(), 1)) }

// Send implements Courier.
func (p *Postgres) Send(ctx context.Context, to string, message []byte) error {
	id, acked := p.acks.add()
	defer p.acks.remove(id)
	body := append(binary.BigEndian.AppendUint64(nil, id), message...)
	switch {
	case to == "":
		return p.sendToAll(ctx, body)
	case len(to) != nameSize || strings.Trim(to, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "":
		return ErrNoReceiver
	}
	large := len(message) > maxMessage
	if large {
		if err := p.sendStored(ctx, to, body); err != nil {
			return err
		}
	} else if !p.post(outgoing{to: to, item: item{messageItem, body}}) {
		return ErrUnavailable
	}
	switch err := p.awaitAck(ctx, to, acked); {
	case err != errNotAcknowledged:
		return err
	case large:
		return nil
	}
	return p.sendStored(ctx, to, body)
}

func (p *Postgres) sendToAll(ctx context.Context, body []byte) error {
	if len(body) > messageIDSize+MaxBroadcast {
		return operator.Error("a message to all processes is too large")
	}
	sent := make(chan struct{})
	if !p.post(outgoing{item: item{messageItem, body}, sent: sent}) {
		return ErrUnavailable
	}
	select {
	case <-sent:
		return nil
	case <-ctx.Done():
		return ErrUnavailable
	}
}

// awaitAck waits until a message is acknowledged. It returns ErrNoReceiver when the receiver does not exist, and
// errNotAcknowledged when it exists and is silent for a second.
func (p *Postgres) awaitAck(ctx context.Context, to string, acked chan struct{}) error {
	absent := 0
	for range ackLooks {
		timer := time.NewTimer(ackPause)
		select {
		case <-acked:
			timer.Stop()
			return nil
		case <-ctx.Done():
			timer.Stop()
			return ErrUnavailable
		case <-timer.C:
		}
		if absent++; p.canReceive(ctx, to) {
			absent = 0
		}
		if absent == absentLooks {
			return ErrNoReceiver
		}
	}
	return errNotAcknowledged
}

// canReceive reports whether a process receives, or may do so again soon.
func (p *Postgres) canReceive(ctx context.Context, name string) (receives bool) {
	if trusted := p.listener.trusted.Load(); trusted == nil || time.Now().Before(*trusted) {
		return true
	}
	err := p.run(ctx, reads, func(ctx context.Context, _ session) error {
		var n int
		return p.pool.QueryRow(ctx, receivingProcesses, p.tables, lockOf(name)).Scan(&n, &receives)
	})
	return receives || err != nil
}

// sendStored leaves a message in a record, and tells the receiver of it. It tries until ctx ends.
func (p *Postgres) sendStored(ctx context.Context, to string, body []byte) error {
	stored := &Record{
		Kind: storedMessageKind, Name: rand.Text(), Group: to, Due: time.Now(),
		Expires: time.Now().Add(storedMessageTTL + MaxClockSkew), Body: append([]byte(p.name), body...),
		Priority: FollowUp, NoNotify: true,
	}
	err := Retry(ctx, func(ctx context.Context) error {
		_, err := p.Add(ctx, stored) // a record with its name is this one, added by an attempt of unknown outcome
		return err
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return ErrUnavailable
	case err == nil:
		p.post(outgoing{to: to, item: item{storedMessageItem, []byte(stored.Name)}})
	}
	return err
}

// receiveStoredMessages receives the messages that were stored for this process.
func (p *Postgres) receiveStoredMessages(s *subscriber) error {
	for more := true; more; {
		all, err := p.List(s.ctx, Query{Kind: storedMessageKind, Group: p.name, Limit: maxStoredMessages})
		for _, stored := range all {
			if err == nil {
				err = p.openStoredMessage(s, stored)
			}
		}
		if err != nil {
			return err
		}
		more = len(all) == maxStoredMessages
	}
	return nil
}

// receiveStoredMessage receives the stored message with a name, unless it was received.
func (p *Postgres) receiveStoredMessage(s *subscriber, name string) error {
	stored, err := p.Record(s.ctx, storedMessageKind, name)
	if stored == nil || err != nil {
		return err
	}
	return p.openStoredMessage(s, stored)
}

func (p *Postgres) openStoredMessage(s *subscriber, stored *Record) error {
	if stored.Group != p.name || len(stored.Body) < nameSize {
		return nil
	}
	p.deliver(s, string(stored.Body[:nameSize]), stored.Body[nameSize:], true)
	stored.NoNotify = true
	_, err := p.Remove(s.ctx, stored)
	return err
}

// deliver gives the message of a process to a subscriber once, and acknowledges one that was for this process alone.
func (p *Postgres) deliver(s *subscriber, from string, body []byte, addressed bool) {
	if len(body) < messageIDSize {
		return
	}
	id := body[:messageIDSize]
	if p.listener.received.add(messageID{from, binary.BigEndian.Uint64(id)}) {
		s.receive(from, body[messageIDSize:])
	}
	if addressed {
		p.post(outgoing{to: from, item: item{ackItem, id}})
	}
}

func (p *Postgres) acknowledge(body []byte) {
	if len(body) != messageIDSize {
		return
	}
	if acked := p.acks.remove(binary.BigEndian.Uint64(body)); acked != nil {
		close(acked)
	}
}

// acks are the messages that this process has sent and that are not acknowledged, by their number.
type acks struct {
	mu      sync.Mutex
	last    uint64                   // number; guarded by mu
	waiting map[uint64]chan struct{} // guarded by mu
}

// add returns the number of new messages, and a channel that is closed when they are acknowledged.
func (a *acks) add() (id uint64, acked chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting = map[uint64]chan struct{}{}
	}
	a.last++
	acked = make(chan struct{})
	a.waiting[a.last] = acked
	return a.last, acked
}

// remove removes messages and returns their channel; nil when they were removed before.
func (a *acks) remove(id uint64) chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	acked := a.waiting[id]
	delete(a.waiting, id)
	return acked
}

// recentMessages are the messages that were received in the last 30 to 60 seconds. One arrives twice when an
// outcome was unknown, or it was stored while it was on its way.
type recentMessages struct {
	recent, older map[messageID]struct{}
	began         time.Time // of recent
}

type messageID struct {
	from   string
	number uint64
}

const recentMessageWindow = 30 * time.Second

// add reports whether the messages were not there.
func (r *recentMessages) add(id messageID) bool {
	if time.Since(r.began) > recentMessageWindow {
		r.older, r.recent, r.began = r.recent, map[messageID]struct{}{}, time.Now()
	}
	_, recent := r.recent[id]
	_, older := r.older[id]
	r.recent[id] = struct{}{}
	return !recent && !older
}
