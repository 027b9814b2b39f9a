package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"

	"hatchel/runtime/durable/audit"
)

// busyPeople sign in, refresh and call again and again while processes are killed.
type busyPeople struct {
	*signInServer

	ended                         atomic.Int64 // requests that were answered
	signIns, refreshes, abandoned atomic.Int64
}

// persist repeats a request until it is answered, as a program does after a lost connection or a 5xx. It reports how
// often it was sent; the answer is empty when ctx ends first.
func (p *busyPeople) persist(ctx context.Context, try func() (tokens, error)) (got tokens, times int) {
	for ctx.Err() == nil {
		times++
		if got, err := try(); err == nil && got.status < 500 {
			p.ended.Add(1)
			return got, times
		}
	}
	return tokens{}, times
}

// run signs people in, one after the other, until ctx ends. One that was interrupted begins anew.
func (p *busyPeople) run(ctx context.Context) {
	for ctx.Err() == nil {
		if a, err := p.authorize(ctx); err == nil {
			p.use(ctx, a)
		} else {
			p.abandoned.Add(1)
		}
	}
}

// use redeems a code, refreshes and calls. An interrupted refresh is repeated and succeeds; an interrupted redemption
// may have used the code.
func (p *busyPeople) use(ctx context.Context, a authorization) {
	got, times := p.persist(ctx, func() (tokens, error) { return p.redeem(ctx, a) })
	switch {
	case ctx.Err() != nil:
		return
	case got.Error == "invalid_grant" && times > 1:
		p.abandoned.Add(1)
		return
	case got.status != http.StatusOK:
		p.t.Errorf("a code is answered with %+v after %d requests", got, times)
		return
	}
	p.signIns.Add(1)
	for range 3 {
		next, times := p.persist(ctx, func() (tokens, error) { return p.refresh(ctx, got.Refresh) })
		if ctx.Err() != nil {
			return
		}
		if next.status != http.StatusOK {
			p.t.Errorf("a refresh token is answered with %+v after %d requests", next, times)
			return
		}
		p.refreshes.Add(1)
		got = next
		call, _ := p.persist(ctx, func() (tokens, error) {
			status, _, err := p.call(ctx, got.Access)
			return tokens{status: status}, err
		})
		if ctx.Err() == nil && call.status != http.StatusOK {
			p.t.Errorf("a call is answered with %d", call.status)
		}
	}
	if rand.IntN(3) > 0 {
		return
	}
	if second, _ := p.persist(ctx, func() (tokens, error) { return p.redeem(ctx, a) }); ctx.Err() == nil && second.Error != "invalid_grant" {
		p.t.Errorf("a code that was used is answered with %+v", second)
	}
}

// grants returns the IDs of all sign-ins, as the command lists them.
func (s *signInServer) grants() (ids []string) {
	s.t.Helper()
	cmd := exec.Command("hatchel", "sign-ins", "list", "--dir", s.dir, "--json")
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.t.TempDir()}, s.environ...)
	out, err := cmd.Output()
	var listed []struct{ ID string }
	if err == nil {
		err = json.Unmarshal(out, &listed)
	}
	if err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	for _, g := range listed {
		ids = append(ids, g.ID)
	}
	return ids
}

// Processes are killed between any two steps of sign-ins, and replaced. No code is redeemed twice, no sign-in exists
// whose consent was not recorded, and a program whose refresh was interrupted is not signed out.
func TestAKilledProcessSignsNobodyInOrOutUnrecorded(t *testing.T) {
	t.Parallel()
	database := emptySchema(t)
	p := &busyPeople{signInServer: startSignInServer(t, 3, database, "audit { postgres = secret.state }\n")}
	ctx, stop := context.WithCancel(t.Context())
	var people sync.WaitGroup
	for range 4 {
		people.Go(func() { p.run(ctx) })
	}
	for round := range max(3, *kills/4) {
		before, more := p.ended.Load(), 4+rand.Int64N(12)
		await(t, func() bool { return p.ended.Load() >= before+more })
		p.take(round % 3).kill()
		p.start(round%3, p.dir)
	}
	stop()
	people.Wait()
	t.Logf("%d sign-ins, %d refreshes, %d were interrupted", p.signIns.Load(), p.refreshes.Load(), p.abandoned.Load())
	if v, err := audit.Verify(t.Context(), audit.Database(database)); err != nil || v.Broken != nil {
		t.Errorf("the chain of the audit log does not hold: %+v %v", v, err)
	}
	consented := map[string]int{}
	err := audit.Database(database).Read(t.Context(), func(l *audit.Line) bool {
		if r, _ := l.Record(); r.Event == audit.EventSignIn && r.Outcome == audit.Consented {
			consented[r.ID]++
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	grants := p.grants()
	for _, id := range grants {
		if consented[id] != 1 {
			t.Errorf("the sign-in %s was recorded %d times", id, consented[id])
		}
	}
	if len(grants) == 0 || p.signIns.Load() == 0 || p.refreshes.Load() == 0 {
		t.Error(fmt.Sprint("nothing was tried: ", len(grants), " sign-ins are left"))
	}
}
