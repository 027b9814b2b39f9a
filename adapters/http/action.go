package http

import (
	"context"
	"errors"
	nethttp "net/http"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
)

// An action sends the request of one block. It is immutable and safe for concurrent use.
type action struct {
	request    *request
	service    *service
	method     string
	path       *hcl.RequestURL
	timeout    time.Duration  // of one attempt; 0 is the call's
	fixed      nethttp.Header // of every call; nil when a call has headers of its own. Never changed
	maxBody    int64
	ok         statuses
	response   *schema.Validator // of a JSON body; nil when nothing is known of it
	retry      *policy           // nil: one attempt
	repeatable bool
}

// Do implements adapters.Action.
func (a *action) Do(ctx context.Context, call *adapters.Call) (adapters.Result, error) {
	if err := ctx.Err(); err != nil {
		return adapters.Result{}, err
	}
	d, err := a.draft(ctx, call, nil)
	if err != nil {
		return adapters.Result{}, err
	}
	out, err := a.exchange(ctx, d)
	if err != nil {
		return adapters.Result{}, err
	}
	return adapters.Result{Value: out}, nil
}

// A turn says how the request of a later page differs from the block.
type turn struct {
	url   string                      // the whole address of the page; empty when it is the block's
	query *parameter                  // a parameter that names the page
	json  func(body any) (any, error) // writes into the body what names the page
}

// draft builds the request of a call.
func (a *action) draft(ctx context.Context, call *adapters.Call, t *turn) (*draft, error) {
	d := &draft{method: a.method, call: call}
	if a.method != nethttp.MethodGet && a.method != nethttp.MethodHead {
		d.key = call.Key
	}
	d, err := a.build(ctx, call.Frame, t, d)
	if f := new(adapters.Fault); t != nil && errors.As(err, &f) && f.Untouched {
		later := *f // pages before this one were asked for
		later.Untouched = false
		return nil, &later
	}
	return d, err
}

func (a *action) build(ctx context.Context, f *hcl.Frame, t *turn, d *draft) (*draft, error) {
	if err := a.aim(f, t, d); err != nil {
		return nil, err
	}
	if d.header = a.fixed; d.header == nil || d.key != "" {
		if err := a.head(ctx, f, d); err != nil {
			return nil, err
		}
	}
	if t != nil && t.query != nil {
		d.setQuery(t.query.name, t.query.text, false)
	}
	var alter func(any) (any, error)
	if t != nil {
		alter = t.json
	}
	return d, a.request.Body.fill(f, d, alter)
}

// aim writes the address.
func (a *action) aim(f *hcl.Frame, t *turn, d *draft) (err error) {
	if t != nil && t.url != "" {
		d.target = []byte(t.url)
		return nil
	}
	d.target = append(make([]byte, 0, len(a.service.base)+64), a.service.base...)
	if d.target, err = a.path.Bind(f, d.target); err != nil {
		return &adapters.Fault{Message: err.Error()}
	}
	return d.addQuery(f, a.request.Query)
}

// fixedHeader is the header of requests that add nothing to it.
func (a *action) fixedHeader() nethttp.Header {
	if a.service.headers != nil || a.service.signer != nil || a.request.Headers != nil || a.request.Body.written() {
		return nil
	}
	return a.header()
}

func (a *action) header() nethttp.Header {
	h := nethttp.Header{"User-Agent": a.service.agent, "Accept": acceptAny}
	if a.request.As == asJSON {
		h["Accept"] = acceptJSON
	}
	return h
}

// head writes the headers: the connection's, what signs the request in, and over them the block's.
func (a *action) head(ctx context.Context, f *hcl.Frame, d *draft) error {
	d.header = a.header()
	if d.key != "" {
		d.header["Idempotency-Key"] = []string{d.key}
	}
	if err := d.addHeaders(f, a.service.headers); err != nil {
		return err
	}
	if a.service.signer != nil {
		if err := a.service.signer.sign(ctx, f, d); err != nil {
			return err
		}
	}
	return d.addHeaders(f, a.request.Headers)
}

var (
	acceptJSON = []string{"application/json, */*;q=0.5"}
	acceptAny  = []string{"*/*"}
)

// exchange sends a draft, as often as the policy allows, and returns the output.
func (a *action) exchange(ctx context.Context, d *draft) (map[string]any, error) {
	address, renewed, sent := d.address(), false, false
	for attempt := 1; ; attempt++ {
		out, failed := a.attempt(ctx, d, address)
		if failed == nil {
			return out, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sent = sent || !failed.unsent
		failed.untouched = !sent
		if failed.status == nethttp.StatusUnauthorized && !renewed {
			if renewed = a.renew(ctx, d); renewed {
				continue
			}
		}
		wait, again := a.retry.again(failed, attempt, a.repeatable)
		if !again || !pause(ctx, wait) {
			return nil, a.conclude(ctx, failed)
		}
	}
}

// conclude makes the last failure the call's.
func (a *action) conclude(ctx context.Context, failed *failure) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	if failed.status == 0 && !failed.unsent && !a.repeatable {
		failed.message += unknownOutcome
	}
	return failed.fault()
}

// renew signs in anew when the service refuses a token that was fetched before.
func (a *action) renew(ctx context.Context, d *draft) bool {
	signer, ok := a.service.signer.(renewer)
	if !ok {
		return false
	}
	signer.forget(d)
	return signer.sign(ctx, nil, d) == nil
}

// attempt sends the request once and reads the answer.
func (a *action) attempt(ctx context.Context, d *draft, address string) (map[string]any, *failure) {
	if a.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.timeout)
		defer cancel()
	}
	if d.stream != nil {
		ctx = d.stream.with(ctx)
	}
	resp, err := a.service.send(ctx, a.method, address, d.header, d.body)
	if err != nil {
		return nil, networkFailure(err, a.timeout)
	}
	defer resp.Body.Close()
	return a.read(resp, d)
}
