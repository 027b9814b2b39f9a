package e2e_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// replaceAll replaces the processes one after the other by such with a configuration. Each ends by itself, after it has
// answered what it has begun.
func (s *signInServer) replaceAll(dir string, environ ...string) {
	s.t.Helper()
	for i := range s.replicas {
		r := s.take(i)
		r.terminate(s.t.(*testing.T))
		r.awaitEnd(s.t.(*testing.T))
		s.start(i, dir, environ...)
	}
}

// The key of the state is changed in two rounds of replacements, while programs call and refresh: first every process
// learns to read what the new key seals, then the new key seals. No call fails, and nobody has to sign in again.
func TestTheKeyOfTheStateIsChangedUnderLoad(t *testing.T) {
	t.Parallel()
	s := startSignInServer(t, 3, emptySchema(t), "")
	const previous = "previous_key = secret.previous\n"
	dir := t.TempDir()
	s.writeConfig(dir, previous, "secret \"previous\" { env = \"PREVIOUS\" }\n")
	ctx, stop := context.WithCancel(t.Context())
	var done atomic.Int64
	var programs sync.WaitGroup
	held := make([]tokens, 4)
	for n := range held {
		held[n] = s.mustSignIn()
		programs.Go(func() {
			for ctx.Err() == nil {
				status, body, err := s.call(t.Context(), held[n].Access)
				if err != nil || status != http.StatusOK {
					t.Errorf("a call: %d %s %v", status, body, err)
					return
				}
				next, err := s.refresh(t.Context(), held[n].Refresh)
				if err != nil || next.status != http.StatusOK {
					t.Errorf("a refresh: %+v %v", next, err)
					return
				}
				held[n] = next
				done.Add(1)
			}
		})
	}
	await := func() {
		before := done.Load()
		await(t, func() bool { return t.Failed() || done.Load() >= before+8 })
	}
	await()
	s.replaceAll(dir, "PREVIOUS="+keyOfState("second"))
	await()
	s.replaceAll(dir, "STATE_KEY="+keyOfState("second"), "PREVIOUS="+keyOfState("first"))
	await()
	stop()
	programs.Wait()
	s.mustSignIn() // with the registration that was made before
}
