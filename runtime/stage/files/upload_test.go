package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/runtime/durable/state"
)

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
	maxHeld := uint64(0)
	buffer, total := make([]byte, 1<<20), 0
	for {
		n, err := in.Read(buffer)
		if total += n; err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if total%(4<<20) == 0 {
			maxHeld = max(maxHeld, peak(func() {}))
		}
	}
	if total != size {
		t.Errorf("%d bytes were read", total)
	}
	if held > size/4 || maxHeld > size/4 {
		t.Errorf("the upload holds %d bytes in memory, reading %d", held, maxHeld)
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

func TestInterruptedUploadLeavesNothing(t *testing.T) {
	s, store := newTestStore(t, "")
	for name, in := range map[string]io.Reader{
		"a broken connection":        &failingReader{&zeroReader{chunkSize + 10}, io.ErrUnexpectedEOF},
		"less content than declared": &zeroReader{chunkSize + 10},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := s.Upload(t.Context(), Upload{Length: 2 * chunkSize, Rules: loose}, in); !errors.Is(err, ErrTruncated) {
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
			if _, err := s.FindOwned(t.Context(), "anna", all[0].Name); err != ErrNotFound {
				t.Errorf("FindOf fails with %v", err)
			}
		}
		return content.Read(p)
	}))
	if err != nil || !looked {
		t.Fatal(err)
	}
	if _, err := s.FindOwned(t.Context(), "anna", f.ID); err != nil {
		t.Error(err)
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
	if !errors.Is(err, ErrQuotaExceeded) {
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
	if _, err := s.FindOwned(t.Context(), "anna", first.ID); err != nil {
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
	if _, err := s.Upload(t.Context(), Upload{Owner: "anna", Length: 1, Rules: loose}, strings.NewReader("x")); !errors.Is(err, ErrQuotaExceeded) {
		t.Errorf("one more than %d: %v", maxFiles, err)
	}
}

func TestFullStoreRejectsUpload(t *testing.T) {
	s, store := newTestStore(t, filepath.Join(t.TempDir(), "state.db"))
	store.SetQuota(2 << 20)
	_, err := s.Upload(t.Context(), Upload{Owner: "anna", Length: 8 << 20, Rules: loose}, &zeroReader{8 << 20})
	if !errors.Is(err, state.ErrFull) {
		t.Fatalf("beyond the quota of the store: %v", err)
	}
	checkNothingLeft(t, store)
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
			if !errors.Is(err, ErrTruncated) {
				t.Errorf("an interrupted upload: %v", err)
			}
		})
	}
	for range maxUploads {
		<-begun
	}
	if _, err := s.Upload(t.Context(), Upload{Owner: "anna", Length: 1, Rules: loose}, strings.NewReader("x")); err != ErrTooManyUploads {
		t.Errorf("one more than %d: %v", maxUploads, err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ConsumeTicket(t.Context(), id, u.Query()); err != ErrTooManyUploads {
		t.Errorf("Redeem fails with %v", err)
	}
	upload(t, s, Upload{Owner: "bert"}, "others are not held up")
	close(end)
	all.Wait()
	upload(t, s, Upload{Owner: "anna"}, "when they have ended")
	if _, err := s.ConsumeTicket(t.Context(), id, u.Query()); err != nil {
		t.Errorf("the ticket is not valid any more: %v", err)
	}
	if n, err := store.Count(t.Context(), kindFile, ownerGroup("anna")); n != 1 || err != nil {
		t.Errorf("%d files are left, %v", n, err)
	}
}
