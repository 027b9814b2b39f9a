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
	newsIDSize = 8
	maxNews    = maxSealedItems - maxItemHeader - newsIDSize // in an envelope; larger news are a letter

	ackPause  = 200 * time.Millisecond // between two looks for the receiver
	ackLooks  = 5                      // before a letter is written
	goneLooks = 3                      // that do not find the receiver, until it is gone

	letterKind = "letter" // records of news that were not acknowledged
	letterTTL  = 10 * time.Minute
	maxLetters = 100 // read at once
)

// errSilent is why awaitAck stops waiting for a process that exists.
var errSilent = errors.New("the news were not acknowledged")

// Name implements Courier.
func (p *Postgres) Name() string { return p.name }

// Processes implements Courier.
func (p *Postgres) Processes() int { return int(max(p.listener.processes.Load(), 1)) }

// Send implements Courier.
func (p *Postgres) Send(ctx context.Context, to string, news []byte) error {
	id, acked := p.acks.add()
	defer p.acks.remove(id)
	body := append(binary.BigEndian.AppendUint64(nil, id), news...)
	switch {
	case to == "":
		return p.sendToAll(ctx, body)
	case len(to) != nameSize || strings.Trim(to, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "":
		return ErrGone
	}
	large := len(news) > maxNews
	if large {
		if err := p.sendLetter(ctx, to, body); err != nil {
			return err
		}
	} else if !p.post(outgoing{to: to, item: item{newsItem, body}}) {
		return ErrUnavailable
	}
	switch err := p.awaitAck(ctx, to, acked); {
	case err != errSilent:
		return err
	case large:
		return nil
	}
	return p.sendLetter(ctx, to, body)
}

func (p *Postgres) sendToAll(ctx context.Context, body []byte) error {
	if len(body) > newsIDSize+MaxBroadcast {
		return operator.Error("news to all processes are too large")
	}
	sent := make(chan struct{})
	if !p.post(outgoing{item: item{newsItem, body}, sent: sent}) {
		return ErrUnavailable
	}
	select {
	case <-sent:
		return nil
	case <-ctx.Done():
		return ErrUnavailable
	}
}

// awaitAck waits until news are acknowledged. It returns ErrGone when the receiver does not exist, and errSilent when
// it exists and is silent for a second.
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
		if absent++; p.mayHear(ctx, to) {
			absent = 0
		}
		if absent == goneLooks {
			return ErrGone
		}
	}
	return errSilent
}

// mayHear reports whether a process hears, or may do so again soon.
func (p *Postgres) mayHear(ctx context.Context, name string) (hears bool) {
	if trusted := p.listener.trusted.Load(); trusted == nil || time.Now().Before(*trusted) {
		return true
	}
	err := p.run(ctx, reads, func(ctx context.Context, _ session) error {
		var n int
		return p.pool.QueryRow(ctx, hearingProcesses, p.tables, lockOf(name)).Scan(&n, &hears)
	})
	return hears || err != nil
}

// sendLetter leaves news in a record, and tells the receiver of it. It tries until ctx ends.
func (p *Postgres) sendLetter(ctx context.Context, to string, body []byte) error {
	letter := &Record{
		Kind: letterKind, Name: rand.Text(), Group: to, Due: time.Now(),
		Expires: time.Now().Add(letterTTL + MaxClockSkew), Body: append([]byte(p.name), body...),
		Priority: FollowUp, NoNotify: true,
	}
	err := Retry(ctx, func(ctx context.Context) error {
		_, err := p.Add(ctx, letter) // a record with its name is this one, added by an attempt of unknown outcome
		return err
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return ErrUnavailable
	case err == nil:
		p.post(outgoing{to: to, item: item{letterItem, []byte(letter.Name)}})
	}
	return err
}

// hearLetters hears the letters that were left for this process.
func (p *Postgres) hearLetters(s *subscriber) error {
	for more := true; more; {
		letters, err := p.List(s.ctx, Query{Kind: letterKind, Group: p.name, Limit: maxLetters})
		for _, letter := range letters {
			if err == nil {
				err = p.openLetter(s, letter)
			}
		}
		if err != nil {
			return err
		}
		more = len(letters) == maxLetters
	}
	return nil
}

// hearLetter hears the letter with a name, unless it was heard.
func (p *Postgres) hearLetter(s *subscriber, name string) error {
	letter, err := p.Record(s.ctx, letterKind, name)
	if letter == nil || err != nil {
		return err
	}
	return p.openLetter(s, letter)
}

func (p *Postgres) openLetter(s *subscriber, letter *Record) error {
	if letter.Group != p.name || len(letter.Body) < nameSize {
		return nil
	}
	p.hear(s, string(letter.Body[:nameSize]), letter.Body[nameSize:], true)
	letter.NoNotify = true
	_, err := p.Remove(s.ctx, letter)
	return err
}

// hear has a subscriber hear the news of a process once, and acknowledges those that were for this process alone.
func (p *Postgres) hear(s *subscriber, from string, body []byte, addressed bool) {
	if len(body) < newsIDSize {
		return
	}
	id := body[:newsIDSize]
	if p.listener.heard.add(newsID{from, binary.BigEndian.Uint64(id)}) {
		s.heard(from, body[newsIDSize:])
	}
	if addressed {
		p.post(outgoing{to: from, item: item{ackItem, id}})
	}
}

func (p *Postgres) acknowledge(body []byte) {
	if len(body) != newsIDSize {
		return
	}
	if acked := p.acks.remove(binary.BigEndian.Uint64(body)); acked != nil {
		close(acked)
	}
}

// acks are the news that this process has sent and that are not acknowledged, by their number.
type acks struct {
	mu      sync.Mutex
	last    uint64                   // number; guarded by mu
	waiting map[uint64]chan struct{} // guarded by mu
}

// add returns the number of new news, and a channel that is closed when they are acknowledged.
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

// remove removes news and returns their channel; nil when they were removed before.
func (a *acks) remove(id uint64) chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	acked := a.waiting[id]
	delete(a.waiting, id)
	return acked
}

// recentNews are the news that were heard in the last 30 to 60 seconds. News arrive twice when an outcome was
// unknown, or a letter was written while they were on their way.
type recentNews struct {
	recent, older map[newsID]struct{}
	began         time.Time // of recent
}

type newsID struct {
	from   string
	number uint64
}

const recentNewsWindow = 30 * time.Second

// add reports whether the news were not there.
func (r *recentNews) add(id newsID) bool {
	if time.Since(r.began) > recentNewsWindow {
		r.older, r.recent, r.began = r.recent, map[newsID]struct{}{}, time.Now()
	}
	_, recent := r.recent[id]
	_, older := r.older[id]
	r.recent[id] = struct{}{}
	return !recent && !older
}
