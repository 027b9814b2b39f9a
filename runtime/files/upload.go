package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"time"

	"hatchel/hcl/schema"
	"hatchel/runtime/state"
)

const (
	chunkSize  = 512 << 10
	uploadTime = time.Hour // that one may take
	grace      = time.Minute
	sniffed    = 512 // bytes that tell a type
)

// Upload is a file that is to be taken.
type Upload struct {
	Owner  string
	Name   string // as its owner calls it
	Type   string // as its owner says; empty when they do not
	Length int64  // bytes; -1 when that is not known
	Rules  Rules
	By     string // who uploads, in words for the audit log; the owner may be less to the point

	id    string // of a ticket; empty for a new one
	group string // of Owner, or of a ticket
}

// Upload takes a file. When it fails nothing of it can be read; the error is *TooLargeError, *TypeError, ErrCrowded, ErrAtOnce, ErrCut, state.ErrFull, or what the store says.
func (s *Shelf) Upload(ctx context.Context, u Upload, in io.Reader) (*File, error) {
	if u.Length > u.Rules.MaxSize {
		return nil, &TooLargeError{u.Rules.MaxSize}
	}
	if u.group == "" {
		u.group = groupOf(u.Owner)
	}
	if !s.enter(u.group) {
		return nil, ErrAtOnce
	}
	defer s.leave(u.group)
	ctx, cancel := context.WithTimeout(ctx, uploadTime)
	defer cancel()
	store, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	s.Tend(ctx, store)
	leave, err := s.attend(ctx, store)
	if err != nil {
		return nil, err
	}
	defer leave()
	t := &taking{Upload: u, store: store, process: s.owner, now: time.Now()}
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	f, err := t.take(ctx, in)
	if err != nil {
		return nil, errors.Join(err, t.undo(ctx))
	}
	return f, nil
}

// undo forgets what has come of a file, also where the record of it is gone because this process was taken for dead. What cannot be removed now is removed by who tends the files.
func (t *taking) undo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	removed, err := forget(ctx, t.store, t.record)
	if err == nil && !removed {
		err = forgetChunks(ctx, t.store, t.id, t.chunks)
	}
	if errors.Is(err, state.ErrAway) {
		return nil
	}
	return err
}

// enter counts an upload that begins, unless there are too many of its group.
func (s *Shelf) enter(group string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.under[group] == mostAtOnce {
		return false
	}
	s.under[group]++
	return true
}

// leave counts one that has ended, with all that it has left behind.
func (s *Shelf) leave(group string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.under[group]--; s.under[group] == 0 {
		delete(s.under, group)
	}
}

// taking is an upload under way. It belongs to one goroutine.
type taking struct {
	Upload
	store   state.Store
	process string // that takes it, in the store
	now     time.Time
	record  *state.Record
	chunks  int // that are in the store, or may be
}

// begin makes sure of the room that the file may take: the record that says so counts for whoever asks next.
func (t *taking) begin(ctx context.Context) error {
	if t.id == "" {
		t.id = newID()
	}
	most := t.Rules.MaxSize
	if t.Length >= 0 {
		most = t.Length
	}
	// It is there as long as its chunks may be, so that who tends the files finds them.
	lease := t.now.Add(max(uploadTime, t.Rules.TTL) + grace)
	t.record = &state.Record{Kind: kindFile, Name: t.id, Group: t.group, Due: lease, Expires: lease, Owner: t.process, Body: (&content{Size: most}).encode(), Yields: true, Quiet: true}
	there, err := t.store.Add(ctx, t.record)
	if err == nil && there != nil {
		err = ErrUnknown // the ticket was used
	}
	if err != nil {
		return err
	}
	if err := t.room(ctx); err != nil {
		_, undone := t.store.Remove(context.WithoutCancel(ctx), t.record)
		return errors.Join(err, undone)
	}
	return nil
}

// room counts what there is of the owner, this file included.
func (t *taking) room(ctx context.Context) error {
	all, err := t.store.List(ctx, state.Query{Kind: kindFile, Group: t.group, Limit: mostFiles + 1})
	if err != nil {
		return err
	}
	if len(all) > mostFiles {
		return ErrCrowded
	}
	total := int64(0)
	for _, r := range all {
		c, err := read(r)
		if err != nil {
			return err
		}
		total += c.Size
	}
	if total > mostBytes {
		return ErrCrowded
	}
	return nil
}

// take reads the file to its end, and makes it one that can be read.
func (t *taking) take(ctx context.Context, in io.Reader) (*File, error) {
	c := content{Name: CleanName(t.Name)}
	sum := sha256.New()
	expires := t.now.Add(t.Rules.TTL)
	buffer := make([]byte, chunkSize)
	if t.Length >= 0 {
		buffer = buffer[:min(t.Length+1, chunkSize)]
	}
	for {
		n, err := fill(in, buffer)
		chunk := buffer[:n]
		if err := t.look(&c, chunk); err != nil {
			return nil, err
		}
		if n > 0 {
			sum.Write(chunk)
			r := &state.Record{Kind: kindChunk, Name: chunkName(t.id, c.Chunks), Group: t.id, Due: expires, Expires: expires.Add(grace), Body: chunk, Yields: true, Quiet: true}
			t.chunks = c.Chunks + 1
			if there, err := t.store.Add(ctx, r); err != nil || there != nil {
				return nil, errors.Join(err, taken(there))
			}
			c.Chunks++
		}
		switch {
		case err == nil:
		case err != io.EOF:
			return nil, errors.Join(ErrCut, err)
		case t.Length >= 0 && c.Size != t.Length:
			return nil, ErrCut
		default:
			c.SHA256, c.Complete = hex.EncodeToString(sum.Sum(nil)), true
			return t.complete(ctx, &c, expires)
		}
	}
}

// fill reads until a buffer is full. The error is io.EOF when that was all there is.
func fill(in io.Reader, buffer []byte) (n int, err error) {
	for n < len(buffer) && err == nil {
		var m int
		m, err = in.Read(buffer[n:])
		n += m
	}
	return n, err
}

var errTaken = errors.New("a part of the file is there already")

func taken(there *state.Record) error {
	if there == nil {
		return nil
	}
	return errTaken
}

// look holds a chunk against the rules; the first one tells the type.
func (t *taking) look(c *content, chunk []byte) error {
	if c.Size += int64(len(chunk)); c.Size > t.Rules.MaxSize || t.Length >= 0 && c.Size > t.Length {
		return &TooLargeError{t.Rules.MaxSize}
	}
	if c.Chunks > 0 {
		return nil
	}
	c.Sniffed = http.DetectContentType(chunk[:min(len(chunk), sniffed)])
	if c.Type = c.Sniffed; t.Type != "" {
		c.Type = CleanType(t.Type)
	}
	if !schema.MediaAllowed(t.Rules.Types, c.Type, c.Sniffed) {
		return &TypeError{c.Type, c.Sniffed, t.Rules.Types}
	}
	return nil
}

// complete is the moment from which on the file can be read.
func (t *taking) complete(ctx context.Context, c *content, expires time.Time) (*File, error) {
	r := *t.record
	r.Due, r.Expires, r.Owner, r.Body = t.now, expires, "", c.encode()
	won, err := t.store.Replace(ctx, &r)
	if err == nil && !won {
		err = ErrCut // it has taken longer than it may, or this process was taken for dead
	}
	if err != nil {
		return nil, err
	}
	return fileOf(&r)
}
