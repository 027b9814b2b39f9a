package call

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/internal/backoff"
	"hatchel/internal/ctxtime"
	"hatchel/internal/digest"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/idempotency"
	"hatchel/runtime/stage/result"
	"hatchel/runtime/stage/task"
)

// keyBackoff is how often a call looks whether another with the same key is done.
var keyBackoff = backoff.Policy{First: 10 * time.Millisecond, Max: time.Second}

var errInProgress = errors.New("another call with the same key is in progress")

// existingTaskError ends a call whose work another call with the same key has made a task.
type existingTaskError struct{ task *task.Task }

func (e *existingTaskError) Error() string { return "the call is a task already" }

const (
	outcomeUnknown = failure.Refusal("A call with this idempotency_key was interrupted, and its outcome is unknown: " +
		"it may have taken effect. It is not carried out again. Find out whether it did; to do it once more, use a " +
		"new key.")
	keyInProgress = failure.Refusal("A call with this idempotency_key is still in progress. This one has done " +
		"nothing. Ask again later, with the same key.")
	keyOfOtherArguments = failure.Refusal("This idempotency_key was used before, with other arguments, and nothing " +
		"was done now. Use a new key for other work.")
	keyPaused = failure.Refusal("The call with this idempotency_key has done a part of its work and waits for " +
		"answers of its client. It continues with those; this call has done nothing.")
	taskNotFollowed = failure.Refusal("The call with this idempotency_key continues as a task, which this client " +
		"cannot follow. It is not carried out again.")
	noRoomForKey  = "the call has an idempotency key, and the state store has no room for another one."
	resultNotKept = "The call with this idempotency_key was carried out, and its result was too large to be kept. " +
		"It is not carried out again."
	taskForgotten = failure.Refusal("The call with this idempotency_key was a task, and its outcome is no longer " +
		"kept. It is not carried out again.")
)

// keys is the stage in which a call becomes the one that is carried out under its idempotency key.
type keys struct {
	program   *Program
	call      *adapters.Call
	clock     *clock
	caller    *mcp.Caller
	approvals *approvals
	claim     *idempotency.Claim
	resumes   string // name of the record of the key that a paused call resumes with
	mayFollow bool   // the caller can follow a task
}

// keyUse is what a call came to at its key: it has a claim, or what another call with the same key came to.
type keyUse struct {
	claim     *idempotency.Claim
	result    *result.Cached // of the other call
	replayed  string         // as in audit.Record
	refusedBy string         // what has refused the call, for metrics
}

// acquire awaits the approvals of the call and then acquires its key. When another call with the same key was carried
// out, it returns the result of that, or fails as that did.
func (k *keys) acquire() (use keyUse, err error) {
	var orphanedAt time.Time // since when the process that has the key is dead
	var before *state.Record
	for look := 1; ; look++ {
		if before == nil {
			before, err = k.approveUnlessStarted()
			if use.refusedBy = k.approvals.refusedBy(); err != nil {
				return use, k.clock.cause(err)
			}
		}
		if before == nil || k.resumes != "" {
			before, err = k.claim.Acquire(k.call.Frame.Context, k.resumes, k.program.Decl.Timeout)
		}
		switch {
		case errors.Is(err, state.ErrFull):
			return use, failure.NotDone{Message: noRoomForKey, Advice: "try again later", Cause: err}
		case errors.Is(err, state.ErrUnavailable):
			return use, failure.NotDone{
				Message: "the state store that records keys is unavailable.", Advice: failure.StateAdvice(err),
				Cause: failure.StateError(err),
			}
		case err != nil:
			return use, k.clock.cause(failure.StateError(err))
		case before == nil:
			return keyUse{claim: k.claim}, nil
		}
		use.refusedBy = metrics.RefusedByKey
		ownerDead, err := k.useRecord(&use, before)
		switch {
		case err != errInProgress:
			return use, err
		case !ownerDead:
			orphanedAt = time.Time{}
		case orphanedAt.IsZero():
			orphanedAt = time.Now()
		case time.Since(orphanedAt) > state.OwnerTTL: // it has had time to come back
			return use, outcomeUnknown
		}
		if k.clock.bound(func(ctx context.Context) error { return ctxtime.Sleep(ctx, keyBackoff.Pause(look)) }) != nil {
			return use, keyInProgress
		}
		if before, err = k.claim.Find(k.call.Frame.Context); err != nil {
			return use, k.clock.cause(err)
		}
	}
}

// approveUnlessStarted awaits the approvals of a call with a key, or returns the record of another
// call that has started meanwhile. The key stays free while people are asked, because nothing is
// done then.
func (k *keys) approveUnlessStarted() (before *state.Record, err error) {
	a := k.approvals
	for !a.isComplete() {
		a.sameKeyStarted = func() (_ bool, err error) {
			before, err = k.claim.Find(k.call.Frame.Context)
			return before != nil, err
		}
		started, err := a.sameKeyStarted()
		if err == nil && !started {
			err = a.await()
		}
		switch {
		case err != errSameKeyStarted:
			return before, err
		case before != nil:
			return before, nil
		}
	}
	return nil, nil
}

// newClaim returns the claim of a call with a key. A caller who acts as another, such as for the next tenant, has
// other keys.
func (p *Program) newClaim(call *adapters.Call, key string) (*idempotency.Claim, error) {
	frozen, err := canonicalInput(call.Frame)
	parts := p.appendIdentity([]string{"idempotency", p.Decl.Name, call.Owner, key}, call)
	name := digest.Of(parts...).String()
	arguments := digest.Of("arguments", string(frozen)).String()
	return idempotency.New(p.Env.Keys, name, arguments, p.tool.Idempotency.TTL), err
}

// canonicalInput returns the inputs of a call without its key, encoded so that equal inputs are
// equal.
func canonicalInput(f *hcl.Frame) ([]byte, error) {
	input := make(map[string]any, len(f.Input))
	for name, v := range f.Input {
		if name != hcl.KeyInput {
			input[name] = v
		}
	}
	return elicit.AppendFrozen(nil, input)
}

// useRecord uses what the call before this one with the same key came to. The error is errInProgress while that is not
// known. OwnerDead says that the process of that call is dead.
func (k *keys) useRecord(use *keyUse, before *state.Record) (ownerDead bool, err error) {
	record, err := idempotency.Decode(before)
	if err != nil {
		return false, err
	}
	switch {
	case record.Arguments != k.claim.Record.Arguments:
		return false, keyOfOtherArguments
	case record.Status == idempotency.Started:
		return !before.OwnerAlive, errInProgress
	case record.Status == idempotency.Paused:
		return false, keyPaused
	case record.Status == idempotency.Task:
		use.replayed = audit.FromKey
		return false, k.joinTask(record.Task)
	case record.Status == idempotency.Done && record.Failure != nil:
		use.replayed = audit.FromKey
		return false, idempotency.ReplayedError{RecordedFailure: record.Failure}
	case record.Status == idempotency.Done && record.Result != nil:
		use.replayed, use.result = audit.FromKey, record.Result
		return false, nil
	}
	return false, outcomeUnknown
}

// joinTask finds the task that a call with the same key has become.
func (k *keys) joinTask(id string) error {
	if a := k.approvals.approvalState; a != nil && a.task != "" {
		return failure.Refusal("The call with this idempotency_key continues as the task " + id +
			". It is not carried out again.")
	}
	if !k.mayFollow {
		return taskNotFollowed
	}
	t, err := k.program.Env.Tasks.Find(k.call.Frame.Context, id, k.caller)
	var unknown *mcp.Error
	switch {
	case errors.As(err, &unknown):
		return taskForgotten
	case err != nil:
		return err
	}
	return &existingTaskError{t}
}

// finishKey stores what a call of an operation came to for other calls with the same key. Message is what its caller
// reads about its failure.
func (o *Operation) finishKey(
	ctx context.Context, claim *idempotency.Claim, err error, failed *failure.Failure, message string,
	changes *adapters.Changes,
) {
	var finishErr error
	switch {
	case failed == nil:
		claim.Record.Result = claim.Result
		finishErr = claim.Finish(ctx, idempotency.Done)
	case !mayHaveActed(changes), mayRepeat(err, failed, changes):
		finishErr = claim.Release(ctx)
	case failed.Internal || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		finishErr = claim.Finish(ctx, idempotency.Lost)
	default:
		claim.Record.Failure = &idempotency.RecordedFailure{Message: message, ID: failed.ID}
		finishErr = claim.Finish(ctx, idempotency.Done)
	}
	logFailure := func(err error) {
		const text = "outcome of idempotency key not stored"
		o.Env.LogFailure(ctx, slog.LevelError, text, err, "tool", o.Decl.Name)
	}
	retryable := claim.Record.Status != idempotency.Started && errors.Is(finishErr, state.ErrUnavailable)
	if finishErr != nil && !(retryable && claim.RetryFinish(logFailure)) {
		logFailure(finishErr)
	}
}

// releaseKey frees the key of a call that was not carried out.
func (r *reuse) releaseKey(ctx context.Context) error {
	claim := r.claim
	if claim == nil {
		return nil
	}
	r.claim = nil
	return claim.Release(ctx)
}

// pauseKey keeps the key for a call that pauses; when nothing was done yet, the key is free until
// the call resumes.
func pauseKey(ctx context.Context, claim *idempotency.Claim, acted bool) error {
	switch {
	case !claim.Held():
		return nil
	case !acted:
		return claim.Release(ctx)
	}
	err := claim.Finish(ctx, idempotency.Paused)
	if errors.Is(err, idempotency.ErrGone) { // another process has resumed the call
		return nil
	}
	return err
}

// deriveKey returns the key of a part of what has a key; empty for what has none. Part is a name or
// an index.
func deriveKey(key string, part any) string {
	if key == "" {
		return ""
	}
	sum := digest.Of("part", key, fmt.Sprint(part))
	return hex.EncodeToString(sum[:16])
}
