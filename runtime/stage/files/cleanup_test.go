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

	"hatchel/runtime/durable/state"
)

// interruptUpload leaves in the store what a process leaves of an upload when it is killed.
func interruptUpload(t *testing.T, store state.Store) {
	t.Helper()
	dead := state.NewProcess(t.Context(), func(context.Context) (state.Store, error) { return store, nil })
	p := &uploadInProgress{
		Upload: Upload{Owner: "anna", Length: -1, Rules: loose, group: ownerGroup("anna")}, store: store, started: time.Now(),
	}
	if err := p.begin(t.Context(), &state.Lease{Process: dead, Kind: kindFile}); err != nil {
		t.Fatal(err)
	}
	_, err := p.receive(t.Context(), &failingReader{&zeroReader{2*chunkSize + 1}, io.ErrUnexpectedEOF})
	if !errors.Is(err, ErrTruncated) {
		t.Fatal(err)
	}
	left, err := store.List(t.Context(), state.Query{Kind: kindChunk, Group: p.id, Limit: 10})
	if err != nil || len(left) != 3 {
		t.Fatalf("%d chunks were left, %v", len(left), err)
	}
	dead.Close()
	if err := store.Heartbeat(t.Context(), dead.Name(), time.Now()); err != nil { // it is dead at once
		t.Fatal(err)
	}
}

// countFiles returns how many files the store has, complete ones and uploads in progress.
func countFiles(t *testing.T, store state.Store) int {
	t.Helper()
	all, err := store.List(t.Context(), state.Query{Kind: kindFile, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// cleanupSuite runs on every store: here are the files of this process, there those of another.
func cleanupSuite(t *testing.T, here, there *Store, store state.Store) {
	complete := upload(t, there, Upload{Owner: "anna"}, "complete")
	interruptUpload(t, store)

	started, end, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	content := bytes.Repeat([]byte("in progress "), chunkSize/4)
	var uploaded *File
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
		uploaded = f
		ended <- err
	}()
	<-started
	here.lease.TTL = 20 * time.Millisecond
	here.StartCleanup()
	for deadline := time.Now().Add(30 * time.Second); countFiles(t, store) > 2 && time.Now().Before(deadline); {
		time.Sleep(here.lease.TTL)
	}
	time.Sleep(5 * here.lease.TTL)
	close(end)
	if err := <-ended; err != nil {
		t.Fatalf("the upload in progress of another process: %v", err)
	}
	if !bytes.Equal(contentOf(t, here, uploaded), content) || string(contentOf(t, here, complete)) != "complete" {
		t.Error("a complete file was changed")
	}
	for _, f := range []*File{uploaded, complete} {
		if removed, err := here.Remove(t.Context(), f); !removed || err != nil {
			t.Fatal(err)
		}
	}
	checkNothingLeft(t, store)
}

func TestUploadOfKilledProcessIsRemoved(t *testing.T) {
	s, store := newTestStore(t, filepath.Join(t.TempDir(), "state.db"))
	cleanupSuite(t, s, newShelf(t, store), store)
}

func TestCleanupRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := state.Open(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		s := newShelf(t, store)
		s.StartCleanup()
		time.Sleep(time.Hour)
		interruptUpload(t, store)
		time.Sleep(orphanTTL - time.Second)
		if n := countFiles(t, store); n != 1 {
			t.Errorf("%d files before the owner could come back", n)
		}
		time.Sleep(2 * orphanTTL)
		checkNothingLeft(t, store)
		s.process.Close()
	})
}

func TestSlowUploadIsNotOrphaned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newTestStore(t, "")
		s.StartCleanup()
		slow := readerFunc(func(p []byte) (int, error) { time.Sleep(10 * orphanTTL); return 0, io.EOF })
		if _, err := s.Upload(t.Context(), Upload{Owner: "anna", Length: -1, Rules: loose}, slow); err != nil {
			t.Error(err)
		}
		s.process.Close()
	})
}

func TestUploadRemovedAsOrphanLeavesNothing(t *testing.T) {
	s, store := newTestStore(t, "")
	content, removed := &zeroReader{3*chunkSize + 1}, false
	_, err := s.Upload(t.Context(), Upload{Owner: "anna", Length: -1, Rules: loose}, readerFunc(func(p []byte) (int, error) {
		if content.left <= chunkSize && !removed {
			removed = true
			all, err := store.List(t.Context(), state.Query{Kind: kindFile, Limit: 10})
			if err != nil || len(all) != 1 {
				t.Fatalf("%d uploads in progress, %v", len(all), err)
			}
			if err := removeOrphan(t.Context(), store, all[0]); err != nil {
				t.Fatal(err)
			}
		}
		return content.Read(p)
	}))
	if !errors.Is(err, ErrTruncated) || !removed {
		t.Errorf("error %v", err)
	}
	checkNothingLeft(t, store)
}
