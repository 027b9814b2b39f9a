package runtime

import (
	"context"
	"sync"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/failure"
	"hatchel/runtime/result"
)

// runEach runs the step for every element of a list or map, a bounded number at a time, and gives the answers in the same form. The first failure
// stops the others.
func (s *boundStep) runEach(c *call) (any, error) {
	elements, named, err := result.EvalElements(s.decl.Each, c.frame)
	if err != nil {
		return nil, err
	}
	list, err := s.runElements(c, elements)
	if err != nil || !named {
		return list, err
	}
	out := make(map[string]any, len(list))
	for i, e := range elements {
		out[e.Key.(string)] = list[i]
	}
	return out, nil
}

func (s *boundStep) runElements(c *call, elements []hcl.Each) ([]any, error) {
	out := make([]any, len(elements))
	workers := min(s.decl.Parallel, len(elements))
	if workers <= 1 {
		key := c.action.Key
		defer func() { c.frame.Each, c.action.Key = nil, key }()
		for i := range elements {
			c.frame.Each, c.action.Key = &elements[i], deriveKey(key, elements[i].Key)
			var err error
			if out[i], err = s.runOnce(&c.action); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return out, s.runParallel(c, workers, elements, out)
}

// runParallel fills out with workers goroutines, all of which have ended when it returns.
func (s *boundStep) runParallel(c *call, workers int, elements []hcl.Each, out []any) error {
	ctx, cancel := context.WithCancel(c.frame.Context)
	defer cancel()
	var (
		mu    sync.Mutex
		next  int   // guarded by mu
		first error // guarded by mu
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1, next <= len(out) && first == nil
	}
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = err
			cancel()
		}
	}
	client := &lockedClient{to: c.action.Client}
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			action := adapters.Call{Frame: c.frame.Fork(ctx), Client: client, Owner: c.action.Owner, Token: c.action.Token}
			for i, ok := take(); ok; i, ok = take() {
				action.Frame.Each, action.Key = &elements[i], deriveKey(c.action.Key, elements[i].Key)
				if err := s.runRecovered(&action, &out[i]); err != nil {
					fail(err)
				}
			}
		})
	}
	running.Wait()
	return first
}

// lockedClient is a client that several goroutines of one call talk to.
type lockedClient struct {
	mu sync.Mutex
	to adapters.Client // guarded by mu
}

func (s *lockedClient) Progress(done, total float64, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to.Progress(done, total, message)
}

func (s *lockedClient) Log(level, logger string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to.Log(level, logger, data)
}

// runRecovered is once on a goroutine whose panics nobody else would catch.
func (s *boundStep) runRecovered(call *adapters.Call, out *any) (err error) {
	defer failure.Recover(&err)
	*out, err = s.runOnce(call)
	return err
}
