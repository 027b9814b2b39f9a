package grant

import (
	"context"
	"errors"

	"hatchel/runtime/durable/state"
)

// Renew returns a sign-in, and nil for one that has ended. It calls renew, as Refresh does, when the provider has not
// been asked for an hour; while another caller does, it returns what is known. With an error of the provider that is
// returned, too.
func (s *Store) Renew(ctx context.Context, id string, renew func(context.Context, *Grant) error) (*Grant, error) {
	for range leaseBackoff.Attempts(ctx) {
		h, err := s.read(ctx, id)
		if err != nil || h == nil || s.Revoked(id) {
			return nil, err
		}
		now, u := s.o.Now(), h.Upstream
		if u == nil || u.Refresh == "" || now.Sub(u.Renewed) < renewInterval || h.isLeased() {
			return &h.Grant, nil
		}
		leased, err := s.renew(ctx, h, renew)
		switch {
		case errors.Is(err, ErrEnded):
			return nil, nil
		case err != nil:
			return &h.Grant, err
		case !leased:
			continue
		}
		if replaced, err := s.replace(context.WithoutCancel(ctx), h); err != nil || replaced {
			return &h.Grant, err
		}
	}
	return nil, state.ErrUnavailable
}
