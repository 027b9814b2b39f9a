package files

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/runtime/durable/state"
)

// newTestStore returns the files in an SQLite store, and the store.
func newTestStore(t *testing.T, path string) (*Store, *state.SQLite) {
	t.Helper()
	store, err := state.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return newShelf(t, store), store
}

// newShelf returns the files of a process of their own in a store.
func newShelf(t *testing.T, store state.Store) *Store {
	t.Helper()
	process := state.NewProcess(t.Context(), func(context.Context) (state.Store, error) { return store, nil })
	s := NewStore(process)
	t.Cleanup(func() {
		process.Close()
		s.Close()
	})
	return s
}

var loose = Rules{MaxSize: 64 << 20, TTL: time.Hour}

func upload(t *testing.T, s *Store, u Upload, content string) *File {
	t.Helper()
	u.Length = int64(len(content))
	if u.Rules.MaxSize == 0 {
		u.Rules = loose
	}
	f, err := s.Upload(t.Context(), u, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func contentOf(t *testing.T, s *Store, f *File) []byte {
	t.Helper()
	in := s.Open(t.Context(), f)
	defer in.Close()
	got, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestFileRoundTrip(t *testing.T) {
	s, _ := newTestStore(t, "")
	for _, size := range []int{0, 1, chunkSize - 1, chunkSize, chunkSize + 1, 2*chunkSize + 7} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(rand.Uint32())
		}
		for _, length := range []int64{int64(size), -1} {
			f, err := s.Upload(t.Context(), Upload{Owner: "anna", Name: "a.bin", Length: length, Rules: loose}, halfReader{bytes.NewReader(content)})
			if err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
			found, err := s.FindOwned(t.Context(), "anna", f.ID)
			if err != nil || found.FileInfo != f.FileInfo || f.Size != int64(size) {
				t.Fatalf("%d bytes: found %+v, %v", size, found, err)
			}
			if !bytes.Equal(contentOf(t, s, found), content) {
				t.Errorf("%d bytes came back as others", size)
			}
			if removed, err := s.Remove(t.Context(), found); !removed || err != nil {
				t.Errorf("not removed: %v", err)
			}
		}
	}
}

// halfReader reads half of what fits, as a network does.
type halfReader struct{ in io.Reader }

func (r halfReader) Read(p []byte) (int, error) { return r.in.Read(p[:(len(p)+1)/2]) }

// zeroReader reads zeros without holding them.
type zeroReader struct{ left int }

func (e *zeroReader) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	clear(p[:n])
	e.left -= n
	return n, nil
}

// checkNothingLeft checks that the store has no record of a file or a chunk.
func checkNothingLeft(t *testing.T, store state.Store) {
	t.Helper()
	for _, kind := range []string{kindFile, kindChunk} {
		left, err := store.List(t.Context(), state.Query{Kind: kind, Limit: 100})
		if err != nil || len(left) > 0 {
			t.Errorf("%d records of the kind %s are left, %v", len(left), kind, err)
		}
	}
}

// failingReader fails at the end of another reader.
type failingReader struct {
	in  io.Reader
	err error
}

func (b *failingReader) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	if err == io.EOF {
		err = b.err
	}
	return n, err
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestFilesOfOthersAreNotFound(t *testing.T) {
	s, _ := newTestStore(t, "")
	f := upload(t, s, Upload{Owner: "anna"}, "hers")
	for _, owner := range []string{"", "bert", "Anna", "anna "} {
		if _, err := s.FindOwned(t.Context(), owner, f.ID); err != ErrNotFound {
			t.Errorf("%q: %v", owner, err)
		}
	}
	for _, id := range []string{"", "file_", f.ID + "a", strings.ToUpper(f.ID), f.ID[:len(f.ID)-1], "file_aaaaaaaaaaaaaaaaaaaaaaaaaa", "../" + f.ID} {
		if _, err := s.FindOwned(t.Context(), "anna", id); err != ErrNotFound {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestFileExpires(t *testing.T) {
	s, store := newTestStore(t, "")
	f := upload(t, s, Upload{Owner: "anna"}, "for an hour")
	r, err := store.Record(t.Context(), kindFile, f.ID)
	if err != nil {
		t.Fatal(err)
	}
	if until := time.Until(r.Expires); until > loose.TTL || until < loose.TTL-time.Minute {
		t.Errorf("it is kept for %s", until)
	}
	r.Expires = time.Now().Add(-time.Millisecond)
	if won, err := store.Replace(t.Context(), r); !won || err != nil {
		t.Fatal(err)
	}
	if _, err := s.FindOwned(t.Context(), "anna", f.ID); err != ErrNotFound {
		t.Errorf("after its time: %v", err)
	}
}

func TestFilesAreNotAnnounced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s, store := newTestStore(t, path)
	_, other := newTestStore(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	heard := make(chan string, 64)
	var watching sync.WaitGroup
	watching.Go(func() { other.Watch(ctx, func(kind, name string) { heard <- kind }, func(error) {}) })
	defer watching.Wait()
	defer cancel()
	if kind := <-heard; kind != "" {
		t.Fatalf("heard %q", kind)
	}
	f := upload(t, s, Upload{Owner: "ada"}, strings.Repeat("x", 2*chunkSize))
	if there, err := s.Remove(t.Context(), f); !there || err != nil {
		t.Error(there, err)
	}
	id, address, _, err := s.Ticket(t.Context(), Upload{Owner: "ada", Rules: loose})
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ConsumeTicket(t.Context(), id, u.Query()); err != nil {
		t.Error(err)
	}
	if _, err := store.Add(t.Context(), &state.Record{Kind: "last", Name: "x", Expires: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if kind := <-heard; kind != "last" {
		t.Errorf("heard of %q first", kind)
	}
}

// The bytes of a removed file would count for no quota.
func TestCancelledRemovalLeavesNothing(t *testing.T) {
	s, store := newTestStore(t, filepath.Join(t.TempDir(), "state.db"))
	f := upload(t, s, Upload{Owner: "anna"}, strings.Repeat("x", 16<<20))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.Remove(ctx, f)
		done <- err
	}()
	for _, err := s.Find(t.Context(), f.ID); err == nil; {
		_, err = s.Find(t.Context(), f.ID)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	checkNothingLeft(t, store)
}
