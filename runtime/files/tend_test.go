package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/state"
)

// cutOff leaves in the store what a process leaves of an upload that is killed in the midst of it.
func cutOff(t *testing.T, store state.Store, process string) {
	t.Helper()
	dead := &taking{Upload: Upload{Owner: "anna", Length: -1, Rules: loose, group: groupOf("anna")}, store: store, process: process, now: time.Now()}
	if err := dead.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	rest := 2*chunkSize + 1
	_, err := dead.take(ctx, readerFunc(func(p []byte) (int, error) {
		if rest == 0 {
			return 0, io.ErrUnexpectedEOF
		}
		n := min(len(p), rest)
		rest -= n
		return n, nil
	}))
	if !errors.Is(err, ErrCut) {
		t.Fatal(err)
	}
	left, err := store.List(t.Context(), state.Query{Kind: kindChunk, Group: dead.id, Limit: 10})
	if err != nil || len(left) != 3 {
		t.Fatalf("%d chunks were left, %v", len(left), err)
	}
}

// tendedSuite is what holds on every store: here is the shelf of this process, there that of another.
func tendedSuite(t *testing.T, here, there *Shelf, store state.Store) {
	kept := upload(t, there, Upload{Owner: "anna"}, "complete")
	cutOff(t, store, "dead")

	started, end, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	content := bytes.Repeat([]byte("under way "), chunkSize/4)
	var taken *File
	go func() {
		in, begun := bytes.NewReader(content), false
		f, err := there.Upload(t.Context(), Upload{Owner: "anna", Length: -1, Rules: loose}, readerFunc(func(p []byte) (int, error) {
			if in.Len() < len(content)/4 && !begun {
				begun = true
				close(started)
				<-end
			}
			return in.Read(p)
		}))
		taken = f
		ended <- err
	}()
	<-started
	missed := sweep(t.Context(), store, nil)
	if len(missed) != 1 {
		t.Errorf("%d uploads have no process", len(missed))
	}
	if missed = sweep(t.Context(), store, missed); len(missed) != 0 {
		t.Errorf("%d uploads were left", len(missed))
	}
	close(end)
	if err := <-ended; err != nil {
		t.Fatalf("an upload under way in another process: %v", err)
	}
	if !bytes.Equal(contentOf(t, here, taken), content) || string(contentOf(t, here, kept)) != "complete" {
		t.Error("a file that is complete reads otherwise")
	}
	for _, f := range []*File{taken, kept} {
		if removed, err := here.Remove(t.Context(), f); !removed || err != nil {
			t.Fatal(err)
		}
	}
	nothingLeft(t, store)
}

func TestWhatAKilledProcessWasTakingIsForgotten(t *testing.T) {
	s, store := shelfIn(t, filepath.Join(t.TempDir(), "state.db"))
	other := NewShelf(func(context.Context) (state.Store, error) { return store, nil })
	defer other.Close()
	tendedSuite(t, s, other, store)
}

func TestWhatIsLeftIsLookedForAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := state.Open(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		s := NewShelf(func(context.Context) (state.Store, error) { return store, nil })
		s.Tend(t.Context(), store)
		if err := store.Present(t.Context(), "killed", time.Now().Add(lease)); err != nil {
			t.Fatal(err)
		}
		cutOff(t, store, "killed")
		time.Sleep(lease - time.Second)
		if all, err := store.List(t.Context(), state.Query{Kind: kindFile, Limit: 10}); err != nil || len(all) != 1 {
			t.Errorf("before anybody can know: %d, %v", len(all), err)
		}
		time.Sleep(2*lease + 2*time.Second)
		synctest.Wait()
		nothingLeft(t, store)

		// One that takes its time says that it is there.
		slow := readerFunc(func(p []byte) (int, error) { time.Sleep(10 * lease); return 0, io.EOF })
		if _, err := s.Upload(t.Context(), Upload{Owner: "anna", Length: -1, Rules: loose}, slow); err != nil {
			t.Errorf("a slow upload: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAnUploadWhoseProcessIsTakenForDeadLeavesNothing(t *testing.T) {
	s, store := shelfIn(t, "")
	content, gone := &endless{3*chunkSize + 1}, false
	_, err := s.Upload(t.Context(), Upload{Owner: "anna", Length: -1, Rules: loose}, readerFunc(func(p []byte) (int, error) {
		if content.left <= chunkSize && !gone {
			gone = true
			all, err := store.List(t.Context(), state.Query{Kind: kindFile, Limit: 10})
			if err != nil || len(all) != 1 {
				t.Fatalf("%d files are under way, %v", len(all), err)
			}
			if ok, err := forget(t.Context(), store, all[0]); !ok || err != nil {
				t.Fatal(err)
			}
		}
		return content.Read(p)
	}))
	if !errors.Is(err, ErrCut) || !gone {
		t.Errorf("it was taken: %v", err)
	}
	nothingLeft(t, store)
}
