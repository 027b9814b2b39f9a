package call

import (
	"context"

	"hatchel/runtime/stage/limit"
)

// heldLimits are the limits that count a call.
type heldLimits struct {
	limiter *limit.Limiter
	keys    []limit.Key
}

// acquire counts the call in a limit, and fails if that rejects it. Bound runs what waits for the limit. A call that
// resumes is counted and never rejected.
func (h *heldLimits) acquire(
	l limit.Limit, caller string, resumes bool, bound func(wait func(context.Context) error) error,
) error {
	key := l.Key(caller)
	if resumes {
		h.limiter.Readmit(key)
	} else if err := bound(func(ctx context.Context) error { return h.limiter.Acquire(ctx, key, l) }); err != nil {
		return err
	}
	h.keys = append(h.keys, key)
	return nil
}

// release takes the call out of the limits that count it.
func (h *heldLimits) release() {
	h.suspend()
	h.keys = nil
}

// suspend does not count the call until readmit is called.
func (h *heldLimits) suspend() {
	for _, key := range h.keys {
		h.limiter.Release(key)
	}
}

// readmit undoes suspend.
func (h *heldLimits) readmit() {
	for _, key := range h.keys {
		h.limiter.Readmit(key)
	}
}
