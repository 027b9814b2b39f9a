package call

import (
	"context"
	"sync"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/failure"
	"hatchel/runtime/result"
)

// runEach runs the step for every element of a list or an object, and returns the outputs in the
// same form. The first failure stops the others.
func (s *Step) runEach(c *call) (any, error) {
	elements, named, err := result.EvalElements(s.Decl.Each, c.frame)
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

func (s *Step) runElements(c *call, elements []hcl.Each) ([]any, error) {
	out := make([]any, len(elements))
	workers := min(s.Decl.Parallel, len(elements))
	if workers > 1 {
		return out, s.runParallel(c, workers, elements, out)
	}
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

// runParallel fills out with several goroutines, all of which have ended when it returns.
func (s *Step) runParallel(c *call, workers int, elements []hcl.Each, out []any) error {
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
	client := &lockedClient{client: c.action.Client}
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			action := adapters.Call{
				Frame: c.frame.Fork(ctx), Client: client, Owner: c.action.Owner, Token: c.action.Token,
			}
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

// runRecovered is runOnce with panics as errors, for a goroutine where nothing else recovers them.
func (s *Step) runRecovered(call *adapters.Call, out *any) (err error) {
	defer failure.Recover(&err)
	*out, err = s.runOnce(call)
	return err
}

// lockedClient is a client that several goroutines of one call use.
type lockedClient struct {
	mu     sync.Mutex
	client adapters.Client // guarded by mu
}

// Progress implements adapters.Client.
func (l *lockedClient) Progress(done, total float64, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.client.Progress(done, total, message)
}

// Log implements adapters.Client.
func (l *lockedClient) Log(level, logger string, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.client.Log(level, logger, data)
}
