package runtime

import (
	"context"
	"sync"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// each runs the step for every element of a list or map, a bounded number at a time, and gives the answers in the same form. The first failure
// stops the others.
func (s *stage) each(c *call) (any, error) {
	v, err := s.step.Each.Eval(c.frame)
	if err == nil {
		v, err = value.Resolve(v)
	}
	if err != nil {
		return nil, spoken(err)
	}
	switch v := v.(type) {
	case nil:
		return []any{}, nil
	case []any:
		return s.elements(c, len(v), func(i int) *hcl.Each { return &hcl.Each{Key: i, Value: v[i]} })
	case map[string]any:
		keys := value.Keys(v)
		list, err := s.elements(c, len(keys), func(i int) *hcl.Each { return &hcl.Each{Key: keys[i], Value: v[keys[i]]} })
		if err != nil {
			return nil, err
		}
		out := make(map[string]any, len(keys))
		for i, k := range keys {
			out[k] = list[i]
		}
		return out, nil
	}
	return nil, &adapters.Fault{Message: "each goes over a list or an object, and this is a " + value.Kind(v)}
}

func (s *stage) elements(c *call, n int, element func(int) *hcl.Each) ([]any, error) {
	out := make([]any, n)
	workers := min(max(s.step.Parallel, 1), n)
	if workers <= 1 {
		defer func() { c.frame.Each = nil }()
		for i := range n {
			c.frame.Each = element(i)
			var err error
			if out[i], err = s.once(&c.action); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return out, s.parallel(c, workers, out, element)
}

// parallel fills out with workers goroutines, all of which have ended when it returns.
func (s *stage) parallel(c *call, workers int, out []any, element func(int) *hcl.Each) error {
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
	client := &shared{to: c.action.Client}
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			action := adapters.Call{Frame: c.frame.Fork(ctx), Client: client}
			for i, ok := take(); ok; i, ok = take() {
				action.Frame.Each = element(i)
				if err := s.guarded(&action, &out[i]); err != nil {
					fail(err)
				}
			}
		})
	}
	running.Wait()
	return first
}

// shared is a client that several goroutines of one call talk to.
type shared struct {
	mu sync.Mutex
	to adapters.Client // guarded by mu
}

func (s *shared) Progress(done, total float64, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to.Progress(done, total, message)
}

func (s *shared) Log(level, logger string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to.Log(level, logger, data)
}

// guarded is once on a goroutine whose panics nobody else would catch.
func (s *stage) guarded(call *adapters.Call, out *any) (err error) {
	defer recovered(&err)
	*out, err = s.once(call)
	return err
}
