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
	"hatchel/runtime/audit"
	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
)

// How often a call asks what has become of another with the same key.
const (
	firstLook = 10 * time.Millisecond
	lastLook  = time.Second
)

// replayed is how another call with the same key has failed, in its words.
type replayed struct{ *deedError }

func (r replayed) Error() string { return r.Message }

// joined is a call whose work another with the same key has made a task.
type joined struct{ task *task }

func (j *joined) Error() string { return "the call is a task already" }

// once performs a call with a key, unless one with the same key was performed before: then it comes to the same.
func (p *Program) once(c *call, key string) error {
	k, err := p.claim(c, key)
	if err != nil {
		return c.broken(err)
	}
	var orphan time.Time // since when its process has not been there
	var before *state.Record
	for look := firstLook; ; look = min(2*look, lastLook) {
		if before == nil {
			if before, err = p.agreeUnlessBegun(c, k); err != nil {
				return c.why(err)
			}
		}
		if before == nil || c.deed != "" {
			before, err = k.enter(c.frame.Context, c.deed, p.decl.Timeout)
		}
		switch {
		case errors.Is(err, state.ErrFull):
			return &adapters.Fault{Message: "the call has a key, and the server remembers too many to remember one more. Nothing was done; try again later", Cause: err, Untouched: true}
		case err != nil:
			return c.why(ofState(err))
		case before == nil:
			if err := p.hold(c, k, key); err != errUsed {
				return err
			}
			c.claim, c.action.Key = nil, ""
			if err := k.forget(c.frame.Context); err != nil {
				return err
			}
			continue
		}
		gone, err := p.found(c, k, before)
		switch {
		case err != errUnderWay:
			return err
		case !gone:
			orphan = time.Time{}
		case orphan.IsZero():
			orphan = time.Now()
		case time.Since(orphan) > lease: // it has had another chance, as tasks have
			return outcomeUnknown
		}
		if err := p.await(c, func(ctx context.Context) error { return until(ctx, nil, time.Now().Add(look), nil) }); err != nil {
			return refusal("A call with this idempotency_key is still under way. This one has done nothing. Ask again later, with the same key.")
		}
		if before, err = k.look(c.frame.Context); err != nil {
			return c.why(err)
		}
	}
}

// agreeUnlessBegun has all agree to a call with a key, or returns what another with the same one has begun. Nothing is done while people are asked, so the key is free until they
// have agreed.
func (p *Program) agreeUnlessBegun(c *call, k *claim) (before *state.Record, err error) {
	for !c.consent.agreed() {
		c.consent.begun = func() (_ bool, err error) {
			before, err = k.look(c.frame.Context)
			return before != nil, err
		}
		begun, err := c.consent.begun()
		if err == nil && !begun {
			err = p.agree(c)
		}
		switch {
		case err != errBegun:
			return before, err
		case before != nil:
			return before, nil
		}
	}
	return nil, nil
}

// hold performs a call that has its key for itself.
func (p *Program) hold(c *call, k *claim, key string) error {
	c.claim, c.action.Key = k, key
	if err := p.perform(c); err != nil {
		return err
	}
	var err error
	if k.made, err = c.memo(); err != nil {
		k.deed.Failed = &deedError{Message: "The call with this idempotency_key was carried out, and its answer was too large to be kept. It is not carried out again."}
	}
	return nil
}

// claim is what the call needs to hold to be carried out.
func (p *Program) claim(c *call, key string) (*claim, error) {
	frozen, err := c.keyless()
	return &claim{
		tasks: p.generation.build.State.tasks,
		key:   purposeOf("deed", p.decl.Name, c.action.Owner, key).String(),
		deed:  deed{Of: purposeOf("arguments", string(frozen)).String()},
		ttl:   p.tool.Idempotency.TTL,
	}, err
}

// keyless are the inputs of the call without its key, encoded so that equal ones read alike.
func (c *call) keyless() ([]byte, error) {
	input := make(map[string]any, len(c.frame.Input))
	for name, v := range c.frame.Input {
		if name != hcl.KeyInput {
			input[name] = v
		}
	}
	return appendFrozen(nil, input)
}

var errUnderWay = errors.New("another call with the same key is under way")

const outcomeUnknown = refusal("A call with this idempotency_key was interrupted, and its outcome is unknown: it may have taken effect. It is not carried out again. Find out whether it did; to do it once more, use a new key.")

// found makes the call what the one before came to. While that is under way the error is errUnderWay, and gone says that its process is not there.
func (p *Program) found(c *call, k *claim, before *state.Record) (gone bool, err error) {
	var d deed
	if err := json.Unmarshal(before.Body, &d); err != nil {
		return false, err
	}
	switch {
	case d.Of != k.deed.Of:
		return false, refusal("This idempotency_key was used before, with other arguments, and nothing was done now. Use a new key for other work.")
	case d.State == deedBegun:
		return !before.Alive, errUnderWay
	case d.State == deedPaused:
		return false, refusal("The call with this idempotency_key has done a part of its work and waits for answers of its client. It goes on with those; this call has done nothing.")
	case d.State == deedTask:
		c.replayed = audit.FromKey
		return false, p.join(c, d.Task)
	case d.State == deedDone && d.Failed != nil:
		c.replayed = audit.FromKey
		return false, replayed{d.Failed}
	case d.State == deedDone && d.Answer != nil:
		c.replayed = audit.FromKey
		return false, c.recall(d.Answer)
	}
	return false, outcomeUnknown
}

// join finds the task that a call with the same key has become.
func (p *Program) join(c *call, id string) error {
	if c.consent != nil && c.consent.task != "" {
		return refusal("The call with this idempotency_key goes on as the task " + id + ". It is not carried out again.")
	}
	if c.becomes == 0 && !c.floats {
		return refusal("The call with this idempotency_key goes on as a task, which this client cannot follow. It is not carried out again.")
	}
	t, err := p.generation.build.State.tasks.find(c.frame.Context, id, c.caller)
	var unknown *mcp.Error
	switch {
	case errors.As(err, &unknown):
		return refusal("The call with this idempotency_key was a task, and what it came to is not kept any more. It is not carried out again.")
	case err != nil:
		return err
	}
	return &joined{t}
}

// derived is the key of a part of what has a key; of what has none it is empty.
func derived(key string, part any) string {
	if key == "" {
		return ""
	}
	text, _ := part.(string)
	if n, ok := part.(int); ok {
		text = strconv.Itoa(n)
	}
	sum := purposeOf("part", key, text)
	return hex.EncodeToString(sum[:16])
}
