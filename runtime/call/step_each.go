package call

import (
	"context"
	"sync"
	"sync/atomic"

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
	var taken atomic.Int64
	var failed atomic.Pointer[error] // the first one
	client := &lockedClient{client: c.action.Client}
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			action := adapters.Call{
				Frame: c.frame.Fork(ctx), Client: client, Owner: c.action.Owner, Token: c.action.Token,
			}
			for failed.Load() == nil {
				i := int(taken.Add(1)) - 1
				if i >= len(out) {
					return
				}
				action.Frame.Each, action.Key = &elements[i], deriveKey(c.action.Key, elements[i].Key)
				err := failure.Try(func() (err error) {
					out[i], err = s.runOnce(&action)
					return err
				})
				if err != nil && failed.CompareAndSwap(nil, &err) {
					cancel()
				}
			}
		})
	}
	running.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
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
