package state

import (
	"context"
	"errors"

	"hatchel/runtime/postgres"
)

// away is what passes by itself: ErrAway.
type away struct{ error }

func (away) Is(target error) bool { return target == ErrAway }

// postgresFault says for an operator what is wrong.
func postgresFault(ctx context.Context, err error) error {
	if known := refused(""); errors.As(err, &known) || errors.Is(err, ErrFull) || errors.Is(err, ErrTaken) {
		return err
	}
	fault := postgres.Fault(ctx, err)
	if errors.Is(fault, postgres.ErrAway) {
		return away{fault}
	}
	return fault
}
