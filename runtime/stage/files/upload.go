package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"time"

	"hatchel/hcl/schema"
	"hatchel/runtime/durable/state"
)

const (
	chunkSize      = 512 << 10
	uploadTimeout  = time.Hour
	cleanupTimeout = time.Minute
	sniffLength    = 512 // bytes from which the media type is detected
)

// Upload is a file that a caller sends.
type Upload struct {
	Owner  string
	Name   string // as the owner calls it
	Type   string // as the owner declares it; empty when it is not declared
	Length int64  // bytes; -1 when it is not known
	Rules  Rules
	By     string // who uploads, for the audit log; it may be more precise than Owner

	id    string // of a ticket; empty for a new one
	group string // of Owner, or of a ticket
}

// Upload stores a file. After an error nothing of it can be read. The error is *TooLargeError,
// *TypeError, [ErrQuotaExceeded], [ErrTooManyUploads], [ErrTruncated], state.ErrFull, or that of the store.
func (s *Store) Upload(ctx context.Context, u Upload, in io.Reader) (*File, error) {
	if u.Length > u.Rules.MaxSize {
		return nil, &TooLargeError{u.Rules.MaxSize}
	}
	if u.group == "" {
		u.group = ownerGroup(u.Owner)
	}
	if !s.startUpload(u.group) {
		return nil, ErrTooManyUploads
	}
	defer s.endUpload(u.group)
	ctx, cancel := context.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	store, err := s.process.Store(ctx)
	if err != nil {
		return nil, err
	}
	s.StartCleanup()
	p := &uploadInProgress{Upload: u, store: store, started: time.Now()}
	if err := p.begin(ctx, &s.lease); err != nil {
		return nil, err
	}
	defer p.hold.Release()
	f, err := p.receive(ctx, in)
	if err != nil {
		return nil, errors.Join(err, p.undo(ctx))
	}
	return f, nil
}

// startUpload counts an upload of a group, or reports false when there are too many.
func (s *Store) startUpload(group string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uploading[group] == maxUploads {
		return false
	}
	s.uploading[group]++
	return true
}

func (s *Store) endUpload(group string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uploading[group]--; s.uploading[group] == 0 {
		delete(s.uploading, group)
	}
}

// uploadInProgress belongs to one goroutine.
type uploadInProgress struct {
	Upload
	store   state.Store
	started time.Time
	hold    *state.Hold
	chunks  int // that are in the store, or may be
}

// begin reserves the size that the file may have: its record counts for the quota from now on.
func (p *uploadInProgress) begin(ctx context.Context, lease *state.Lease) error {
	if p.id == "" {
		p.id = newID()
	}
	reserved := p.Rules.MaxSize
	if p.Length >= 0 {
		reserved = p.Length
	}
	// The record lives at least as long as its chunks may, so that the cleanup finds them.
	expires := p.started.Add(max(uploadTimeout, p.Rules.TTL) + cleanupTimeout)
	hold, existing, err := lease.Begin(ctx, &state.Record{
		Name: p.id, Group: p.group, Due: expires, Expires: expires, Body: (&metadata{Size: reserved}).encode(),
		Priority: state.Low, NoNotify: true,
	}, nil)
	if err == nil && existing != nil {
		err = ErrNotFound // the ticket was used
	}
	if err != nil {
		return err
	}
	p.hold = hold
	if err := p.checkQuota(ctx); err != nil {
		defer hold.Release()
		_, removing := p.store.Remove(context.WithoutCancel(ctx), hold.Record)
		return errors.Join(err, removing)
	}
	return nil
}

// checkQuota returns [ErrQuotaExceeded] when the files of the owner, including this one, exceed the quota.
func (p *uploadInProgress) checkQuota(ctx context.Context) error {
	all, err := p.store.List(ctx, state.Query{Kind: kindFile, Group: p.group, Limit: maxFiles + 1})
	if err != nil {
		return err
	}
	if len(all) > maxFiles {
		return ErrQuotaExceeded
	}
	total := int64(0)
	for _, r := range all {
		m, err := decodeMetadata(r)
		if err != nil {
			return err
		}
		total += m.Size
	}
	if total > maxBytes {
		return ErrQuotaExceeded
	}
	return nil
}

// receive reads the file to its end and completes it.
func (p *uploadInProgress) receive(ctx context.Context, in io.Reader) (*File, error) {
	m := metadata{Name: CleanName(p.Name)}
	sum := sha256.New()
	var chunk bytes.Buffer
	for {
		chunk.Reset()
		_, err := io.CopyN(&chunk, in, chunkSize)
		if err := p.checkChunk(&m, chunk.Bytes()); err != nil {
			return nil, err
		}
		if chunk.Len() > 0 {
			sum.Write(chunk.Bytes())
			if err := p.addChunk(ctx, chunk.Bytes()); err != nil {
				return nil, err
			}
		}
		switch {
		case err == nil:
		case err != io.EOF:
			return nil, errors.Join(ErrTruncated, err)
		case p.Length >= 0 && m.Size != p.Length:
			return nil, ErrTruncated
		default:
			m.SHA256, m.Complete = hex.EncodeToString(sum.Sum(nil)), true
			return p.complete(ctx, &m)
		}
	}
}

// checkChunk applies the rules to a chunk and adds its size. The first chunk gives the media type.
func (p *uploadInProgress) checkChunk(m *metadata, chunk []byte) error {
	if m.Size += int64(len(chunk)); m.Size > p.Rules.MaxSize || p.Length >= 0 && m.Size > p.Length {
		return &TooLargeError{p.Rules.MaxSize}
	}
	if p.chunks > 0 {
		return nil
	}
	m.Sniffed = http.DetectContentType(chunk[:min(len(chunk), sniffLength)])
	if m.Type = m.Sniffed; p.Type != "" {
		m.Type = CleanType(p.Type)
	}
	if !schema.MediaAllowed(p.Rules.Types, m.Type, m.Sniffed) {
		return &TypeError{m.Type, m.Sniffed, p.Rules.Types}
	}
	return nil
}

var errChunkExists = errors.New("a chunk of the file exists already")

func (p *uploadInProgress) addChunk(ctx context.Context, chunk []byte) error {
	expires := p.started.Add(p.Rules.TTL)
	r := &state.Record{
		Kind: kindChunk, Name: chunkName(p.id, p.chunks), Group: p.id, Due: expires,
		Expires: expires.Add(cleanupTimeout), Body: chunk, Priority: state.Low, NoNotify: true,
	}
	p.chunks++
	existing, err := p.store.Add(ctx, r)
	if err == nil && existing != nil {
		err = errChunkExists
	}
	return err
}

// complete makes the file readable.
func (p *uploadInProgress) complete(ctx context.Context, m *metadata) (*File, error) {
	r := p.hold.Record
	r.Due, r.Expires, r.Body = p.started, p.started.Add(p.Rules.TTL), m.encode()
	completed, err := p.hold.Finish(ctx)
	if err == nil && !completed {
		err = ErrTruncated // it has expired, or was removed as the upload of a dead process
	}
	if err != nil {
		return nil, err
	}
	return decodeFile(r)
}

// undo removes what was stored of a failed upload, also when its record was removed as that of a
// dead process. What cannot be removed because the store is unavailable is left to the cleanup.
func (p *uploadInProgress) undo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	removed, err := removeFile(ctx, p.store, p.hold.Record)
	if err == nil && !removed {
		err = removeChunks(ctx, p.store, p.id, p.chunks)
	}
	if errors.Is(err, state.ErrUnavailable) {
		return nil
	}
	return err
}
