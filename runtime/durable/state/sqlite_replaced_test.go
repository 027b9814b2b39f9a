package state_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/runtime/durable/state"
)

// copyFile overwrites a file in place, as cp does.
func copyFile(t testing.TB, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	check(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	check(t, err)
	_, err = io.Copy(out, in)
	check(t, errors.Join(err, out.Close()))
}

// nextProcess opens what the next process would find at a path. It reads a copy, because the stores of one process share
// the index of a WAL.
func nextProcess(t *testing.T, s state.Store, path string) state.Store {
	t.Helper()
	s.(*state.SQLite).HoldCheckpoint() // both files are those of one moment
	seen := filepath.Join(t.TempDir(), "seen.db")
	for _, suffix := range []string{"", "-wal"} {
		if _, err := os.Stat(path + suffix); err == nil {
			copyFile(t, path+suffix, seen+suffix)
		}
	}
	next := openFile(t, seen)
	t.Cleanup(func() { next.Close() })
	return next
}

// stateAttacks replace or remove the state at a path; other is the state of another server.
var stateAttacks = map[string]func(t *testing.T, path, other string){
	"mv over it": func(t *testing.T, path, other string) { check(t, os.Rename(other, path)) },
	"cp over it": func(t *testing.T, path, other string) { copyFile(t, other, path) },
	"rm":         func(t *testing.T, path, _ string) { check(t, os.Remove(path)) },
	"rm of all": func(t *testing.T, path, _ string) {
		os.Remove(path)
		os.Remove(path + "-wal")
		os.Remove(path + "-shm")
	},
	"rm of the WAL":             func(t *testing.T, path, _ string) { os.Remove(path + "-wal") },
	"rm of the WAL's index":     func(t *testing.T, path, _ string) { os.Remove(path + "-shm") },
	"rm of the WAL and cp over": func(t *testing.T, path, other string) { os.Remove(path + "-wal"); copyFile(t, other, path) },
	"rm of all and mv": func(t *testing.T, path, other string) {
		os.Remove(path)
		os.Remove(path + "-wal")
		os.Remove(path + "-shm")
		check(t, os.Rename(other, path))
	},
	"mv of the directory": func(t *testing.T, path, other string) {
		check(t, os.Rename(filepath.Dir(path), filepath.Dir(path)+".old"))
		check(t, os.Mkdir(filepath.Dir(path), 0o700))
		check(t, os.Rename(other, path))
	},
	"a symbolic link": func(t *testing.T, path, other string) {
		check(t, os.Symlink(other, path+".link"))
		check(t, os.Rename(path+".link", path))
	},
	"no database": func(t *testing.T, path, _ string) {
		check(t, os.WriteFile(path, []byte(strings.Repeat("no database ", 2000)), 0o600))
	},
}

// An idempotency key that nobody will read again lets a payment be made twice.
func TestAcknowledgedRecordIsInTheFileAtThePath(t *testing.T) {
	for name, attack := range stateAttacks {
		for _, pending := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, pending %v", name, pending), func(t *testing.T) {
				dir := t.TempDir()
				path, other := filepath.Join(dir, "data", "state.db"), filepath.Join(dir, "other.db")
				check(t, openFile(t, other).Close())
				s := openFile(t, path)
				defer s.Close()
				add(t, s, recordOf("before", time.Now()))
				if !pending {
					info, err := os.Stat(path + "-wal")
					for deadline := time.Now().Add(time.Minute); err == nil && info.Size() > 0 && time.Now().Before(deadline); {
						info, err = os.Stat(path + "-wal")
					}
				}
				s.(*state.SQLite).HoldCheckpoint()
				attack(t, path, other)
				var acknowledged []string
				for n := range 5 {
					key := fmt.Sprintf("key%d", n)
					existing, err := s.Add(t.Context(), recordOf(key, time.Now()))
					switch {
					case err == nil && existing == nil:
						acknowledged = append(acknowledged, key)
					case !errors.Is(err, state.ErrUnavailable):
						t.Errorf("%s: %v, %v", key, existing, err)
					}
				}
				err := s.(interface{ Ping(context.Context) error }).Ping(t.Context())
				if (err != nil) == (len(acknowledged) > 0) {
					t.Errorf("%d of 5 were acknowledged, and Ping returns %v", len(acknowledged), err)
				}
				if len(acknowledged) == 0 {
					return
				}
				next := nextProcess(t, s, path)
				for _, key := range acknowledged {
					if known(t, next, key) == nil {
						t.Errorf("%s was acknowledged and is not in the file", key)
					}
				}
			})
		}
	}
}

func TestStateThatIsPutBackIsUsedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := openFile(t, path)
	defer s.Close()
	add(t, s, recordOf("a", time.Now()))
	check(t, os.Rename(path, path+".moved"))
	if _, err := s.Add(t.Context(), recordOf("b", time.Now())); !errors.Is(err, state.ErrUnavailable) || !strings.Contains(err.Error(), "move the same file back") {
		t.Errorf("got %v", err)
	}
	if _, err := s.Record(t.Context(), "k", "a"); !errors.Is(err, state.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	check(t, os.Rename(path+".moved", path))
	if !add(t, s, recordOf("b", time.Now())) || known(t, s, "a") == nil {
		t.Error("it lost a record")
	}
}

// Records are added while the file is moved away and back again and again.
func TestStateIsMovedWhileRecordsAreAdded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := openFile(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	var adding sync.WaitGroup
	var mu sync.Mutex
	added, wrote := []string{}, make(chan struct{}, 1)
	for worker := range 2 {
		adding.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				key := fmt.Sprintf("%d-%d", worker, n)
				existing, err := s.Add(t.Context(), recordOf(key, time.Now()))
				if err != nil || existing != nil {
					continue
				}
				mu.Lock()
				added = append(added, key)
				mu.Unlock()
				select {
				case wrote <- struct{}{}:
				default:
				}
			}
		})
	}
	for range 20 {
		<-wrote
		check(t, os.Rename(path, path+".moved"))
		check(t, os.Rename(path+".moved", path))
	}
	cancel()
	adding.Wait()
	next := nextProcess(t, s, path)
	for _, key := range added {
		if known(t, next, key) == nil {
			t.Errorf("%s was acknowledged and is not in the file", key)
		}
	}
	check(t, s.Close())
}

// Several processes share the file, and each copies the WAL.
func TestStoresOfOneFileSeeOneAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	a, b := openFile(t, path), openFile(t, path)
	defer a.Close()
	defer b.Close()
	for n := range 100 {
		key := fmt.Sprint(n)
		if !add(t, a, recordOf(key, time.Now())) || add(t, b, recordOf(key, time.Now())) || known(t, b, key) == nil {
			t.Fatalf("record %d", n)
		}
		a, b = b, a
	}
}
