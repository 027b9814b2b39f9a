package call

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"hatchel/hcl"
	"hatchel/internal/ctxtime"
	"hatchel/runtime/audit"
	"hatchel/runtime/digest"
	"hatchel/runtime/elicit"
	"hatchel/runtime/failure"
	"hatchel/runtime/idempotency"
	"hatchel/runtime/mcp"
	"hatchel/runtime/metrics"
	"hatchel/runtime/state"
	"hatchel/runtime/task"
)

// How often a call looks whether another with the same key is done.
const (
	minKeyPoll = 10 * time.Millisecond
	maxKeyPoll = time.Second
)

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

// acquireKey makes the call the one that is carried out under its idempotency key, if it has one.
// When another call with the same key was carried out, it fails with what that came to:
// errHasResult or its failure.
func (p *Program) acquireKey(c *call) error {
	key, _ := c.frame.Input[hcl.KeyInput].(string)
	if p.tool.Idempotency == nil || c.nested || key == "" || p.tool.Cache != nil && c.approval == nil {
		return nil
	}
	claim, err := p.newClaim(c, key)
	if err != nil {
		return c.evalError(err)
	}
	var orphanedAt time.Time // since when the process that has the key is dead
	var before *state.Record
	for poll := minKeyPoll; ; poll = min(2*poll, maxKeyPoll) {
		if before == nil {
			if before, err = p.approveUnlessStarted(c, claim); err != nil {
				return c.contextCause(err)
			}
		}
		if before == nil || c.reuse.resumedKey != "" {
			before, err = claim.Acquire(c.frame.Context, c.reuse.resumedKey, p.Decl.Timeout)
		}
		switch {
		case errors.Is(err, state.ErrFull):
			return failure.NotDone{Message: noRoomForKey, Advice: "try again later", Cause: err}
		case errors.Is(err, state.ErrUnavailable):
			return failure.NotDone{
				Message: "the state store that records keys is unavailable.", Advice: failure.StateAdvice(err),
				Cause: failure.StateError(err),
			}
		case err != nil:
			return c.contextCause(failure.StateError(err))
		case before == nil:
			c.reuse.claim, c.action.Key, c.access.refusedBy = claim, key, ""
			return nil
		}
		c.access.refusedBy = metrics.RefusedByKey
		ownerDead, err := p.useRecord(c, claim, before)
		switch {
		case err != errInProgress:
			return err
		case !ownerDead:
			orphanedAt = time.Time{}
		case orphanedAt.IsZero():
			orphanedAt = time.Now()
		case time.Since(orphanedAt) > state.OwnerTTL: // it has had time to come back
			return outcomeUnknown
		}
		if c.waitWithTimeout(func(ctx context.Context) error { return ctxtime.Sleep(ctx, poll) }) != nil {
			return keyInProgress
		}
		if before, err = claim.Find(c.frame.Context); err != nil {
			return c.contextCause(err)
		}
	}
}

// releaseKey frees the key of a call that was not carried out.
func (c *call) releaseKey() error {
	claim := c.reuse.claim
	if claim == nil {
		return nil
	}
	c.reuse.claim, c.action.Key = nil, ""
	return claim.Release(c.frame.Context)
}

// approveUnlessStarted awaits the approvals of a call with a key, or returns the record of another
// call that has started meanwhile. The key stays free while people are asked, because nothing is
// done then.
func (p *Program) approveUnlessStarted(c *call, claim *idempotency.Claim) (before *state.Record, err error) {
	for !c.approval.isComplete() {
		c.approval.sameKeyStarted = func() (_ bool, err error) {
			before, err = claim.Find(c.frame.Context)
			return before != nil, err
		}
		started, err := c.approval.sameKeyStarted()
		if err == nil && !started {
			err = p.awaitApprovals(c)
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

func (p *Program) newClaim(c *call, key string) (*idempotency.Claim, error) {
	frozen, err := c.canonicalInput()
	name := digest.Of("idempotency", p.Decl.Name, c.action.Owner, key).String()
	arguments := digest.Of("arguments", string(frozen)).String()
	return idempotency.New(p.Env.Keys, name, arguments, p.tool.Idempotency.TTL), err
}

// canonicalInput returns the inputs of the call without its key, encoded so that equal inputs are
// equal.
func (c *call) canonicalInput() ([]byte, error) {
	input := make(map[string]any, len(c.frame.Input))
	for name, v := range c.frame.Input {
		if name != hcl.KeyInput {
			input[name] = v
		}
	}
	return elicit.AppendFrozen(nil, input)
}

// useRecord returns what the call before this one with the same key came to: errHasResult when this
// call has its result now, errInProgress while that is not known. OwnerDead says that the process
// of that call is dead.
func (p *Program) useRecord(c *call, claim *idempotency.Claim, before *state.Record) (ownerDead bool, err error) {
	record, err := idempotency.Decode(before)
	if err != nil {
		return false, err
	}
	switch {
	case record.Arguments != claim.Record.Arguments:
		return false, keyOfOtherArguments
	case record.Status == idempotency.Started:
		return !before.OwnerAlive, errInProgress
	case record.Status == idempotency.Paused:
		return false, keyPaused
	case record.Status == idempotency.Task:
		c.reuse.replayedFrom = audit.FromKey
		return false, p.joinTask(c, record.Task)
	case record.Status == idempotency.Done && record.Failure != nil:
		c.reuse.replayedFrom = audit.FromKey
		return false, idempotency.ReplayedError{RecordedFailure: record.Failure}
	case record.Status == idempotency.Done && record.Result != nil:
		c.reuse.replayedFrom = audit.FromKey
		if err := c.result.Restore(record.Result); err != nil {
			return false, err
		}
		return false, errHasResult
	}
	return false, outcomeUnknown
}

// joinTask finds the task that a call with the same key has become.
func (p *Program) joinTask(c *call, id string) error {
	if c.approval != nil && c.approval.task != "" {
		return failure.Refusal("The call with this idempotency_key continues as the task " + id +
			". It is not carried out again.")
	}
	if c.progress.taskStage == 0 && !c.progress.mayBecomeTask {
		return taskNotFollowed
	}
	t, err := p.Env.Tasks.Find(c.frame.Context, id, c.caller)
	var unknown *mcp.Error
	switch {
	case errors.As(err, &unknown):
		return taskForgotten
	case err != nil:
		return err
	}
	return &existingTaskError{t}
}

// finishKey stores what the call came to for other calls with the same key.
func (c *call) finishKey(ctx context.Context, err error, failed *failure.Failure) {
	claim := c.reuse.claim
	if !claim.Held() {
		return
	}
	var finishErr error
	switch {
	case failed == nil:
		claim.Record.Result = claim.Result
		finishErr = claim.Finish(ctx, idempotency.Done)
	case !c.mayHaveActed(), c.mayRepeat(err, failed):
		finishErr = claim.Release(ctx)
	case failed.Internal || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		finishErr = claim.Finish(ctx, idempotency.Lost)
	default:
		claim.Record.Failure = &idempotency.RecordedFailure{Message: c.publicMessage(failed), ID: failed.ID}
		finishErr = claim.Finish(ctx, idempotency.Done)
	}
	logFailure := func(err error) {
		const text = "outcome of idempotency key not stored"
		c.operation.Env.LogFailure(ctx, slog.LevelError, text, err, "tool", c.operation.Decl.Name)
	}
	retryable := claim.Record.Status != idempotency.Started && errors.Is(finishErr, state.ErrUnavailable)
	if finishErr != nil && !(retryable && claim.RetryFinish(logFailure)) {
		logFailure(finishErr)
	}
}

// pauseKey keeps the key for a call that pauses; when nothing was done yet, the key is free until
// the call resumes.
func (c *call) pauseKey(ctx context.Context) error {
	switch {
	case !c.reuse.claim.Held():
		return nil
	case !c.mayHaveActed():
		return c.reuse.claim.Release(ctx)
	}
	err := c.reuse.claim.Finish(ctx, idempotency.Paused)
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
