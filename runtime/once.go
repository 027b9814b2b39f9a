package runtime

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/internal/ctxtime"
	"hatchel/runtime/audit"
	"hatchel/runtime/digest"
	"hatchel/runtime/elicit"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
)

// How often a call asks what has become of another with the same key.
const (
	minKeyPoll = 10 * time.Millisecond
	maxKeyPoll = time.Second
)

// replayedError is how another call with the same key has failed, in its words.
type replayedError struct{ *recordedFailure }

func (r replayedError) Error() string { return r.Message }

func (r replayedError) Failure() *failure.Failure {
	return &failure.Failure{Message: r.Message, Refused: true, ID: r.ID}
}

// existingTaskError is a call whose work another with the same key has made a task.
type existingTaskError struct{ task *task }

func (j *existingTaskError) Error() string { return "the call is a task already" }

// runIdempotent performs a call with a key, unless one with the same key was performed before: then it comes to the same.
func (p *Program) runIdempotent(c *call, key string) error {
	k, err := p.newClaim(c, key)
	if err != nil {
		return c.evalError(err)
	}
	var orphan time.Time // since when its process has not been there
	var before *state.Record
	for look := minKeyPoll; ; look = min(2*look, maxKeyPoll) {
		if before == nil {
			if before, err = p.agreeUnlessStarted(c, k); err != nil {
				return c.contextCause(err)
			}
		}
		if before == nil || c.resumedKey != "" {
			before, err = k.acquire(c.frame.Context, c.resumedKey, p.decl.Timeout)
		}
		switch {
		case errors.Is(err, state.ErrFull):
			return &adapters.Fault{Message: "the call has a key, and the server remembers too many to remember one more. Nothing was done; try again later", Cause: err, Untouched: true}
		case err != nil:
			return c.contextCause(failure.StateError(err))
		case before == nil:
			if err := p.runClaimed(c, k, key); err != errApprovalUsed {
				return err
			}
			c.claim, c.action.Key = nil, ""
			if err := k.release(c.frame.Context); err != nil {
				return err
			}
			continue
		}
		gone, err := p.useRecord(c, k, before)
		switch {
		case err != errInProgress:
			return err
		case !gone:
			orphan = time.Time{}
		case orphan.IsZero():
			orphan = time.Now()
		case time.Since(orphan) > leaseTTL: // it has had another chance, as tasks have
			return outcomeUnknown
		}
		if err := p.waitWithTimeout(c, func(ctx context.Context) error { return ctxtime.Sleep(ctx, look) }); err != nil {
			return failure.Refusal("A call with this idempotency_key is still under way. This one has done nothing. Ask again later, with the same key.")
		}
		if before, err = k.find(c.frame.Context); err != nil {
			return c.contextCause(err)
		}
	}
}

// agreeUnlessStarted has all agree to a call with a key, or returns what another with the same one has begun. Nothing is done while people are asked, so the key is free until they
// have agreed.
func (p *Program) agreeUnlessStarted(c *call, k *claim) (before *state.Record, err error) {
	for !c.approval.isComplete() {
		c.approval.sameKeyStarted = func() (_ bool, err error) {
			before, err = k.find(c.frame.Context)
			return before != nil, err
		}
		begun, err := c.approval.sameKeyStarted()
		if err == nil && !begun {
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

// runClaimed performs a call that has its key for itself.
func (p *Program) runClaimed(c *call, k *claim, key string) error {
	c.claim, c.action.Key = k, key
	if err := p.perform(c); err != nil {
		return err
	}
	var err error
	if k.result, err = c.result.Cached(); err != nil {
		k.record.Failed = &recordedFailure{Message: "The call with this idempotency_key was carried out, and its answer was too large to be kept. It is not carried out again."}
	}
	return nil
}

// newClaim is what the call needs to hold to be carried out.
func (p *Program) newClaim(c *call, key string) (*claim, error) {
	frozen, err := c.canonicalInput()
	return &claim{
		tasks:  p.generation.build.State.tasks,
		key:    digest.Of("deed", p.decl.Name, c.action.Owner, key).String(),
		record: idempotencyRecord{Arguments: digest.Of("arguments", string(frozen)).String()},
		ttl:    p.tool.Idempotency.TTL,
	}, err
}

// canonicalInput are the inputs of the call without its key, encoded so that equal ones read alike.
func (c *call) canonicalInput() ([]byte, error) {
	input := make(map[string]any, len(c.frame.Input))
	for name, v := range c.frame.Input {
		if name != hcl.KeyInput {
			input[name] = v
		}
	}
	return elicit.AppendFrozen(nil, input)
}

var errInProgress = errors.New("another call with the same key is under way")

const outcomeUnknown = failure.Refusal("A call with this idempotency_key was interrupted, and its outcome is unknown: it may have taken effect. It is not carried out again. Find out whether it did; to do it once more, use a new key.")

// useRecord makes the call what the one before came to. While that is under way the error is errUnderWay, and gone says that its process is not there.
func (p *Program) useRecord(c *call, k *claim, before *state.Record) (gone bool, err error) {
	var d idempotencyRecord
	if err := json.Unmarshal(before.Body, &d); err != nil {
		return false, err
	}
	switch {
	case d.Arguments != k.record.Arguments:
		return false, failure.Refusal("This idempotency_key was used before, with other arguments, and nothing was done now. Use a new key for other work.")
	case d.State == keyStarted:
		return !before.Alive, errInProgress
	case d.State == keyPaused:
		return false, failure.Refusal("The call with this idempotency_key has done a part of its work and waits for answers of its client. It goes on with those; this call has done nothing.")
	case d.State == keyTask:
		c.replayedFrom = audit.FromKey
		return false, p.joinTask(c, d.Task)
	case d.State == keyDone && d.Failed != nil:
		c.replayedFrom = audit.FromKey
		return false, replayedError{d.Failed}
	case d.State == keyDone && d.Answer != nil:
		c.replayedFrom = audit.FromKey
		return false, c.result.Restore(d.Answer)
	}
	return false, outcomeUnknown
}

// joinTask finds the task that a call with the same key has become.
func (p *Program) joinTask(c *call, id string) error {
	if c.approval != nil && c.approval.task != "" {
		return failure.Refusal("The call with this idempotency_key goes on as the task " + id + ". It is not carried out again.")
	}
	if c.taskStage == 0 && !c.mayBecomeTask {
		return failure.Refusal("The call with this idempotency_key goes on as a task, which this client cannot follow. It is not carried out again.")
	}
	t, err := p.generation.build.State.tasks.find(c.frame.Context, id, c.caller)
	var unknown *mcp.Error
	switch {
	case errors.As(err, &unknown):
		return failure.Refusal("The call with this idempotency_key was a task, and what it came to is not kept any more. It is not carried out again.")
	case err != nil:
		return err
	}
	return &existingTaskError{t}
}

// deriveKey is the key of a part of what has a key; of what has none it is empty.
func deriveKey(key string, part any) string {
	if key == "" {
		return ""
	}
	text, _ := part.(string)
	if n, ok := part.(int); ok {
		text = strconv.Itoa(n)
	}
	sum := digest.Of("part", key, text)
	return hex.EncodeToString(sum[:16])
}
