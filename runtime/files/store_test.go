package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hatchel/runtime/state"
)

// newTestStore returns the files in an SQLite store, and the store.
func newTestStore(t *testing.T, path string) (*Shelf, *state.SQLite) {
	t.Helper()
	store, err := state.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return newShelf(t, store), store
}

// newShelf returns the files of a process of their own in a store.
func newShelf(t *testing.T, store state.Store) *Shelf {
	t.Helper()
	process := state.NewProcess(func(context.Context) (state.Store, error) { return store, nil })
	s := NewShelf(process)
	t.Cleanup(func() {
		process.Close()
		s.Close()
	})
	return s
}

var loose = Rules{MaxSize: 64 << 20, TTL: time.Hour}

func upload(t *testing.T, s *Shelf, u Upload, content string) *File {
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

func contentOf(t *testing.T, s *Shelf, f *File) []byte {
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
			found, err := s.FindOf(t.Context(), "anna", f.ID)
			if err != nil || found.FileFacts != f.FileFacts || f.Size != int64(size) {
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

func TestLargeFileNeedsMemoryForOneChunk(t *testing.T) {
	s, _ := newTestStore(t, filepath.Join(t.TempDir(), "state.db"))
	const size = 16 << 20
	peak := func(do func()) uint64 {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.GC()
		runtime.ReadMemStats(&after)
		return after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc)
	}
	var f *File
	held := peak(func() {
		var err error
		if f, err = s.Upload(t.Context(), Upload{Owner: "anna", Length: size, Rules: loose}, &zeroReader{size}); err != nil {
			t.Fatal(err)
		}
	})
	in := s.Open(t.Context(), f)
	defer in.Close()
	most := uint64(0)
	buffer, total := make([]byte, 1<<20), 0
	for {
		n, err := in.Read(buffer)
		if total += n; err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if total%(4<<20) == 0 {
			most = max(most, peak(func() {}))
		}
	}
	if total != size || f.chunks != size/chunkSize {
		t.Errorf("%d bytes in %d chunks were read", total, f.chunks)
	}
	if held > size/4 || most > size/4 {
		t.Errorf("the upload left %d bytes in memory, reading %d", held, most)
	}
}

func TestUploadChecksSizeAndType(t *testing.T) {
	s, store := newTestStore(t, "")
	pdf := "%PDF-1.7\n"
	tenBytes := Rules{MaxSize: 10, TTL: time.Hour}
	pdfOnly := Rules{MaxSize: 100, TTL: time.Hour, Types: []string{"application/pdf"}}
	for name, test := range map[string]struct {
		upload  Upload
		content string
		large   bool // the error is about the size, not the type
	}{
		"a declared length that is too large": {Upload{Length: 11, Rules: tenBytes}, "", true},
		"content that is too large":           {Upload{Length: -1, Rules: tenBytes}, "elevenbytes", true},
		"more content than declared":          {Upload{Length: 3, Rules: loose}, "four", true},
		"another declared type":               {Upload{Length: -1, Type: "text/plain", Rules: pdfOnly}, pdf, false},
		"content of another type":             {Upload{Length: -1, Type: "application/pdf", Rules: pdfOnly}, "<html><script>", false},
		"an empty file":                       {Upload{Length: -1, Type: "application/pdf", Rules: pdfOnly}, "", false},
		"a declared type that is malformed":   {Upload{Length: -1, Type: "pdf", Rules: pdfOnly}, pdf, false},
		"two declared types":                  {Upload{Length: -1, Type: "application/pdf, text/html", Rules: pdfOnly}, pdf, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Upload(t.Context(), test.upload, strings.NewReader(test.content))
			if test.large && !errors.As(err, new(*TooLargeError)) || !test.large && !errors.As(err, new(*TypeError)) {
				t.Errorf("error %v", err)
			}
		})
	}
	checkNothingLeft(t, store)
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

func TestInterruptedUploadLeavesNothing(t *testing.T) {
	s, store := newTestStore(t, "")
	for name, in := range map[string]io.Reader{
		"a broken connection":        &failingReader{&zeroReader{chunkSize + 10}, io.ErrUnexpectedEOF},
		"less content than declared": &zeroReader{chunkSize + 10},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := s.Upload(t.Context(), Upload{Length: 2 * chunkSize, Rules: loose}, in); !errors.Is(err, ErrCut) {
				t.Errorf("error %v", err)
			}
		})
	}
	t.Run("a cancelled request", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := s.Upload(ctx, Upload{Length: -1, Rules: loose}, readerFunc(func(p []byte) (int, error) {
			cancel()
			return len(p), nil
		}))
		if err == nil {
			t.Error("the file was stored")
		}
	})
	checkNothingLeft(t, store)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestIncompleteFileIsNotFound(t *testing.T) {
	s, store := newTestStore(t, "")
	looked := false
	content := &zeroReader{chunkSize + 1}
	f, err := s.Upload(t.Context(), Upload{Owner: "anna", Length: -1, Rules: loose}, readerFunc(func(p []byte) (int, error) {
		if content.left == 1 && !looked {
			looked = true
			all, err := store.List(t.Context(), state.Query{Kind: kindFile, Limit: 10})
			if err != nil || len(all) != 1 {
				t.Fatalf("%d files are under way, %v", len(all), err)
			}
			if _, err := s.FindOf(t.Context(), "anna", all[0].Name); err != ErrUnknown {
				t.Errorf("a file that is not complete: %v", err)
			}
		}
		return content.Read(p)
	}))
	if err != nil || !looked {
		t.Fatal(err)
	}
	if _, err := s.FindOf(t.Context(), "anna", f.ID); err != nil {
		t.Error(err)
	}
}

func TestFilesOfOthersAreNotFound(t *testing.T) {
	s, _ := newTestStore(t, "")
	f := upload(t, s, Upload{Owner: "anna"}, "hers")
	for _, owner := range []string{"", "bert", "Anna", "anna "} {
		if _, err := s.FindOf(t.Context(), owner, f.ID); err != ErrUnknown {
			t.Errorf("%q: %v", owner, err)
		}
	}
	for _, id := range []string{"", "file_", f.ID + "a", strings.ToUpper(f.ID), f.ID[:len(f.ID)-1], "file_aaaaaaaaaaaaaaaaaaaaaaaaaa", "../" + f.ID} {
		if _, err := s.FindOf(t.Context(), "anna", id); err != ErrUnknown {
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
	if _, err := s.FindOf(t.Context(), "anna", f.ID); err != ErrUnknown {
		t.Errorf("after its time: %v", err)
	}
}

func TestQuotaCountsReservedBytes(t *testing.T) {
	s, _ := newTestStore(t, "")
	half := Rules{MaxSize: maxBytes/2 + 1, TTL: time.Hour}
	first := upload(t, s, Upload{Owner: "anna"}, "small")
	// An upload in progress counts with the size that is reserved for it.
	started, end := make(chan struct{}), make(chan struct{})
	ended := make(chan error)
	go func() {
		once := false
		_, err := s.Upload(t.Context(), Upload{Owner: "anna", Length: -1, Rules: half}, readerFunc(func([]byte) (int, error) {
			if !once {
				once = true
				close(started)
				<-end
			}
			return 0, io.EOF
		}))
		ended <- err
	}()
	<-started
	_, err := s.Upload(t.Context(), Upload{Owner: "anna", Length: -1, Rules: half}, strings.NewReader("x"))
	if !errors.Is(err, ErrCrowded) {
		t.Errorf("while another upload reserves more than half of the quota: %v", err)
	}
	upload(t, s, Upload{Owner: "bert"}, "another owner has a quota of their own")
	close(end)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := s.Upload(t.Context(), Upload{Owner: "anna", Length: -1, Rules: half}, strings.NewReader("x")); err != nil {
		t.Errorf("after the other upload turned out to be small: %v", err)
	}
	if _, err := s.FindOf(t.Context(), "anna", first.ID); err != nil {
		t.Error(err)
	}
}

func TestQuotaCountsFiles(t *testing.T) {
	s, store := newTestStore(t, "")
	for i := range maxFiles {
		r := &state.Record{Kind: kindFile, Name: fmt.Sprint("file", i), Group: ownerGroup("anna"), Due: time.Now(), Expires: time.Now().Add(time.Hour), Body: (&metadata{}).encode()}
		if there, err := store.Add(t.Context(), r); there != nil || err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Upload(t.Context(), Upload{Owner: "anna", Length: 1, Rules: loose}, strings.NewReader("x")); !errors.Is(err, ErrCrowded) {
		t.Errorf("one more than %d: %v", maxFiles, err)
	}
}

func TestFullStoreRejectsUpload(t *testing.T) {
	s, store := newTestStore(t, filepath.Join(t.TempDir(), "state.db"))
	store.Bound(2 << 20)
	_, err := s.Upload(t.Context(), Upload{Owner: "anna", Length: 8 << 20, Rules: loose}, &zeroReader{8 << 20})
	if !errors.Is(err, state.ErrFull) {
		t.Fatalf("beyond the quota of the store: %v", err)
	}
	checkNothingLeft(t, store)
}

func TestSignedURL(t *testing.T) {
	s, _ := newTestStore(t, "")
	f := upload(t, s, Upload{Owner: "anna", Name: "a.txt"}, "signed")
	link, err := s.Link(t.Context(), "https://tools.example.com", f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := findAt(t, s, link); err != nil {
		t.Fatalf("%s: %v", link, err)
	}
	from := strings.Index(link, "file_")
	for i := from; i < len(link); i++ {
		for _, with := range []byte{link[i] ^ 1, 'A', '0', '%', '&'} {
			if with == link[i] {
				continue
			}
			changed := link[:i] + string(with) + link[i+1:]
			if _, err := findAt(t, s, changed); err == nil {
				t.Errorf("good as well: %s", changed)
			}
		}
	}
	if shown := Unsigned("POST " + link + " {}"); strings.Contains(shown, link[len(link)-43:]) || !strings.Contains(shown, f.ID) {
		t.Errorf("it is shown as %s", shown)
	}
	other := upload(t, s, Upload{Owner: "anna"}, "another")
	if _, err := findAt(t, s, strings.Replace(link, f.ID, other.ID, 1)); err == nil {
		t.Error("the signature of one file is good for another")
	}
	over, err := s.sign(t.Context(), allowGet, "/files/", f.ID, time.Now().Add(-time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := findAt(t, s, over); err != ErrSignature {
		t.Errorf("after its time: %v", err)
	}
	_, put, _, err := s.Ticket(t.Context(), Upload{Owner: "anna", Rules: loose})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := findAt(t, s, strings.Replace(put, "uploads/", "", 1)); err != ErrSignature {
		t.Errorf("an address for an upload reads: %v", err)
	}
}

// findAt returns the file of a signed URL.
func findAt(t *testing.T, s *Shelf, link string) (*File, error) {
	u, err := url.Parse(link)
	if err != nil {
		return nil, err
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, err
	}
	return s.FindSigned(t.Context(), u.Path[strings.LastIndexByte(u.Path, '/')+1:], query)
}

func TestTicketIsValidOnce(t *testing.T) {
	s, _ := newTestStore(t, "")
	id, address, _, err := s.Ticket(t.Context(), Upload{Owner: "anna", Name: "../a.txt", Rules: loose})
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(address)
	wrong := u.Query()
	wrong.Set("expires", "99999999999")
	if _, err := s.Redeem(t.Context(), id, wrong); err != ErrSignature {
		t.Errorf("with another time: %v", err)
	}
	up, err := s.Redeem(t.Context(), id, u.Query())
	if err != nil {
		t.Fatal(err)
	}
	f := upload(t, s, up, "taken")
	if got, err := s.FindOf(t.Context(), "anna", id); err != nil || f.ID != id || got.Name != "a.txt" {
		t.Errorf("the file is %+v, %v", got, err)
	}
	if _, err := s.Redeem(t.Context(), id, u.Query()); err != ErrUnknown {
		t.Errorf("once more: %v", err)
	}
}

func TestFilesAreNotAnnounced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s, store := newTestStore(t, path)
	_, other := newTestStore(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	heard := make(chan string, 64)
	var watching sync.WaitGroup
	watching.Go(func() { other.Watch(ctx, func(kind, name string) { heard <- kind }) })
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
	if _, err := s.Redeem(t.Context(), id, u.Query()); err != nil {
		t.Error(err)
	}
	if _, err := store.Add(t.Context(), &state.Record{Kind: "last", Name: "x", Expires: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if kind := <-heard; kind != "last" {
		t.Errorf("heard of %q first", kind)
	}
}

func TestTicketsAreLimited(t *testing.T) {
	s, store := newTestStore(t, "")
	long := strings.Repeat("long ", 1000)
	id, _, _, err := s.Ticket(t.Context(), Upload{Owner: "anna", Name: long, Type: "text/" + long, Rules: loose})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := store.Record(t.Context(), kindTicket, id); err != nil || len(r.Body) > 1<<10 {
		t.Errorf("what is remembered of one: %+v, %v", r, err)
	}
	for range maxFiles - 1 {
		if _, _, _, err := s.Ticket(t.Context(), Upload{Owner: "anna", Rules: loose}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, _, err := s.Ticket(t.Context(), Upload{Owner: "anna", Rules: loose}); err != ErrCrowded {
		t.Errorf("one more than %d: %v", maxFiles, err)
	}
	if _, _, _, err := s.Ticket(t.Context(), Upload{Owner: "bert", Rules: loose}); err != nil {
		t.Errorf("somebody else's: %v", err)
	}
}

func TestTicketIsConsumedOnceByConcurrentUploads(t *testing.T) {
	s, _ := newTestStore(t, "")
	id, address, _, err := s.Ticket(t.Context(), Upload{Owner: "anna", Rules: loose})
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var taken atomic.Int64
	for range 32 {
		all.Go(func() {
			switch _, err := s.Redeem(t.Context(), id, u.Query()); err {
			case nil:
				taken.Add(1)
			case ErrUnknown:
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if taken.Load() != 1 {
		t.Errorf("%d uploads had it", taken.Load())
	}
}

// A caller who starts many uploads and ends none does not hold up others.
func TestConcurrentUploadsAreLimited(t *testing.T) {
	s, store := newTestStore(t, "")
	id, address, _, err := s.Ticket(t.Context(), Upload{Owner: "anna", Rules: loose})
	if err != nil {
		t.Fatal(err)
	}
	begun, end := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for range maxUploads {
		first := sync.OnceFunc(func() { begun <- struct{}{} })
		all.Go(func() {
			_, err := s.Upload(t.Context(), Upload{Owner: "anna", Length: 10, Rules: loose}, readerFunc(func([]byte) (int, error) {
				first()
				<-end
				return 0, io.ErrUnexpectedEOF
			}))
			if !errors.Is(err, ErrCut) {
				t.Errorf("one that was broken off: %v", err)
			}
		})
	}
	for range maxUploads {
		<-begun
	}
	if _, err := s.Upload(t.Context(), Upload{Owner: "anna", Length: 1, Rules: loose}, strings.NewReader("x")); err != ErrAtOnce {
		t.Errorf("one more than %d: %v", maxUploads, err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Redeem(t.Context(), id, u.Query()); err != ErrAtOnce {
		t.Errorf("one that was asked for before: %v", err)
	}
	upload(t, s, Upload{Owner: "bert"}, "others are not held up")
	close(end)
	all.Wait()
	upload(t, s, Upload{Owner: "anna"}, "when they have ended")
	if _, err := s.Redeem(t.Context(), id, u.Query()); err != nil {
		t.Errorf("the address is good no more: %v", err)
	}
	if n, err := store.Count(t.Context(), kindFile, ownerGroup("anna")); n != 1 || err != nil {
		t.Errorf("%d files are left, %v", n, err)
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
