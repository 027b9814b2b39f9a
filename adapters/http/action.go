package http

import (
	"context"
	"errors"
	"fmt"
	"maps"
	nethttp "net/http"
	"slices"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
)

// action sends the request of one block. It is immutable and safe for concurrent use.
type action struct {
	block        *block
	service      *service
	method       string
	address      *hcl.RequestURL
	timeout      time.Duration   // of one attempt; 0 means the time limit of the call
	sharedHeader nethttp.Header  // of every call, never modified; nil if each call has headers of its own
	fixedHeaders map[string]bool // of the connection, which names of a call cannot override
	maxBody      int64
	okStatus     statuses
	response     *schema.Validator // of a JSON body; nil if its type is unknown
	retry        *retryPolicy      // nil means one attempt
	repeatable   bool
	separators   map[string]string // of lists in the query and in the form, by their names
	span         spanNames
}

// Do implements adapters.Action.
func (a *action) Do(ctx context.Context, call *adapters.Call) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, adapters.WithChange(err, adapters.ChangeUnsent)
	}
	r := &compiledRequest{call: call}
	if err := a.compile(ctx, call.Frame, nextPage{}, r); err != nil {
		return nil, adapters.WithChange(err, adapters.ChangeUnsent)
	}
	return a.roundTrip(ctx, r)
}

// compile sets the parts of the request of a call, or of a dry run.
func (a *action) compile(ctx context.Context, f *hcl.Frame, page nextPage, r *compiledRequest) error {
	r.separators = a.separators
	if !r.dryRun && !isRead(a.method) {
		r.idempotencyKey = r.call.Key
	}
	if !r.dryRun && a.service.trace {
		r.traceparent = r.call.Traceparent
	}
	if err := a.setAddress(f, page, r); err != nil {
		return err
	}
	if page.query != nil { // before the credentials, which may be parameters
		if err := r.overlayQuery(page.query); err != nil {
			return err
		}
	}
	if r.header = a.sharedHeader; r.header == nil || r.idempotencyKey != "" || r.traceparent != "" {
		if err := a.setHeaders(ctx, f, r); err != nil {
			return err
		}
	}
	return a.block.Body.fill(f, r, page.edit)
}

func (a *action) setAddress(f *hcl.Frame, page nextPage, r *compiledRequest) (err error) {
	if page.url != "" {
		r.target = []byte(page.url)
		return nil
	}
	r.target = append(make([]byte, 0, len(a.service.base)+64), a.service.base...)
	if r.target, err = a.address.Bind(f, r.target); err != nil {
		return &adapters.Fault{Message: err.Error()}
	}
	return r.addQuery(f, a.block.Query)
}

// newSharedHeader returns the header of all requests, or nil if requests add headers of their own.
func (a *action) newSharedHeader() nethttp.Header {
	if a.service.headers != nil || a.service.authorizer != nil || a.block.Headers != nil || a.block.Body.isSet() {
		return nil
	}
	return a.newHeader()
}

func (a *action) newHeader() nethttp.Header {
	h := nethttp.Header{"User-Agent": a.service.userAgent, "Accept": acceptAny}
	switch a.block.As {
	case asJSON:
		h["Accept"] = acceptJSON
	case asJSONLines:
		h["Accept"] = acceptJSONLines
	}
	return h
}

// setHeaders sets the headers of the connection, then the credentials, then the headers of the block.
func (a *action) setHeaders(ctx context.Context, f *hcl.Frame, r *compiledRequest) error {
	r.header = a.newHeader()
	if r.idempotencyKey != "" {
		r.header["Idempotency-Key"] = []string{r.idempotencyKey}
	}
	if r.traceparent != "" {
		r.header["Traceparent"] = []string{r.traceparent}
	}
	if err := r.addHeaders(f, a.service.headers, nil); err != nil {
		return err
	}
	if a.service.authorizer != nil {
		if err := a.service.authorizer.Authorize(ctx, f, r); err != nil {
			return err
		}
	}
	if err := r.addHeaders(f, a.block.Headers, a.fixedHeaders); err != nil {
		return err
	}
	r.setTracestate()
	return nil
}

// setTracestate adds the tracestate of the call. The author's own traceparent does not belong to it, and the author's
// own tracestate replaces it.
func (r *compiledRequest) setTracestate() {
	sent := r.header["Traceparent"]
	if r.traceparent == "" || len(sent) != 1 || sent[0] != r.traceparent {
		return
	}
	if r.call.Tracestate != "" && r.header["Tracestate"] == nil {
		r.header["Tracestate"] = []string{r.call.Tracestate}
	}
}

// fixHeaders returns the headers of the connection that the block does not name.
func (a *action) fixHeaders() map[string]bool {
	fixed := map[string]bool{}
	for _, name := range a.service.ownHeaders {
		fixed[foldHeaderName(name)] = true
	}
	for _, name := range a.block.Headers.Names() {
		delete(fixed, foldHeaderName(name))
	}
	return fixed
}

// foldHeaderName returns what names of one header have in common. Services that follow CGI, such as those of WSGI and
// PHP, read X_Key as X-Key.
func foldHeaderName(name string) string {
	return nethttp.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
}

var (
	acceptJSON = []string{"application/json, */*;q=0.5"}
	acceptAny  = []string{"*/*"}

	acceptJSONLines = []string{"application/x-ndjson, application/jsonl, */*;q=0.5"}
)

// roundTrip sends a request, retries it as the policy allows, and returns the output.
func (a *action) roundTrip(ctx context.Context, r *compiledRequest) (map[string]any, error) {
	address, began, renewed, sent, outage := r.address(), time.Now(), false, false, false
	change := adapters.ChangeUnsent
	for attempt := 1; ; attempt++ {
		out, failed := a.attempt(ctx, r, address)
		if failed == nil {
			return out, nil
		}
		change = adapters.Worse(change, failed.change())
		if err := ctx.Err(); err == context.DeadlineExceeded {
			message := "the request was tried " + times(attempt)
			return nil, &adapters.Fault{Message: message, Cause: err, Unavailable: outage, Change: change}
		} else if err != nil {
			return nil, adapters.WithChange(err, change)
		}
		sent = sent || !failed.unsent
		outage = failed.isOutage()
		failed.Unavailable, failed.NotSent, failed.Change = outage, !sent, change
		r.call.Pace.Postpone(ctx, failed.RetryAfter)
		wait, again := a.retry.next(failed, attempt, a.repeatable)
		if failed.Status == nethttp.StatusUnauthorized && a.service.authorizer != nil && !renewed {
			renewed = a.service.authorizer.Renew(ctx, r)
			again = again || renewed
		}
		if !again || !a.service.waitForRetry(ctx, wait) || r.call.Pace.Wait(ctx) != nil {
			return nil, a.finalError(ctx, failed, attempt, time.Since(began))
		}
	}
}

// finalError returns the error of the call after its last attempt.
func (a *action) finalError(ctx context.Context, failed *failure, attempts int, took time.Duration) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return adapters.WithChange(ctx.Err(), failed.Change)
	}
	switch {
	case attempts > 1:
		failed.Message += fmt.Sprintf("; tried %s, %v in all", times(attempts), took.Round(100*time.Millisecond))
	case !a.repeatable && a.retry == nil && notExecutedStatuses.contains(failed.Status):
		failed.Message += fmt.Sprintf("; tried once, because a %s is retried only if its http block has a retry block "+
			"or an Idempotency-Key header", a.method)
	case failed.timedOut:
		failed.Message += "; tried once"
	}
	return &failed.Fault
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// attempt sends the request once and reads the response.
func (a *action) attempt(
	ctx context.Context, r *compiledRequest, address string,
) (out map[string]any, failed *failure) {
	if a.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.timeout)
		defer cancel()
	}
	if r.stream != nil {
		ctx = context.WithValue(ctx, streamKey{}, r.stream)
	}
	r.tries++
	span := a.startSpan(r)
	status := 0
	defer func() { endSpan(span, status, failed) }()
	r.call.Asked = time.Now()
	r.call.Attempts++
	if trace := r.call.Trace; trace != nil {
		trace(r.event(adapters.TraceSent), a.describe(r))
	}
	if a.service.mocks != nil {
		ctx = withDetails(ctx, mockedDetails{r.secrets, a.jsonType(), a.block.As == asJSONLines})
	}
	resp, err := a.service.send(ctx, a.method, address, r.header, r.body)
	if err != nil {
		return nil, networkFailure(err, a.timeout)
	}
	defer resp.Body.Close()
	if a.service.authorizer != nil {
		a.service.authorizer.HideSigned(resp, r)
	}
	status = resp.StatusCode
	return a.read(resp, r)
}

// Plan implements adapters.Planner. It returns the request line, the headers and the body.
func (a *action) Plan(call *adapters.Call) ([]adapters.Effect, error) {
	r := &compiledRequest{dryRun: true}
	if err := a.compile(call.Frame.Context, call.Frame, nextPage{}, r); err != nil {
		return nil, err
	}
	return adapters.PlanEffects("http", adapters.Scrub(r.address(), r.secrets), a.describe(r)), nil
}

// describe returns the request line, the headers and the body, without secrets.
func (a *action) describe(r *compiledRequest) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s\n", a.method, r.address())
	writeHeader(&out, r.header)
	if r.body != nil {
		fmt.Fprintf(&out, "\n%s\n", adapters.PlanText(r.body, len(r.body)))
	}
	if r.stream != nil && !r.dryRun {
		out.WriteString("\n(a body with uploaded files)\n")
	}
	return adapters.Scrub(out.String(), r.secrets)
}

// event returns the name of an event with the page and the try that it is about.
func (r *compiledRequest) event(name string) string {
	if r.page > 0 {
		name += fmt.Sprintf(", page %d", r.page)
	}
	return name + fmt.Sprintf(", try %d", r.tries)
}

// traceResponse traces a response.
func (r *compiledRequest) traceResponse(resp *nethttp.Response, body []byte) {
	if r.call.Trace == nil {
		return
	}
	var out strings.Builder
	fmt.Fprintln(&out, resp.Status)
	writeHeader(&out, resp.Header)
	fmt.Fprintf(&out, "\n%s\n", adapters.PlanText(body, len(body)))
	text := r.fetched.Text(adapters.Scrub(out.String(), r.secrets))
	r.call.Trace(r.event(adapters.TraceReceived), text)
}

func writeHeader(out *strings.Builder, header nethttp.Header) {
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, v := range header[name] {
			fmt.Fprintf(out, "%s: %s\n", name, v)
		}
	}
}

// Plan implements adapters.Planner. It returns the request of the first page.
func (a *paginatedAction) Plan(call *adapters.Call) ([]adapters.Effect, error) {
	first, err := a.action.Plan(call)
	if err == nil && a.paginate.maxPages() > 1 {
		first[0].Text += fmt.Sprintf("\nand the next pages, at most %d in total\n", a.paginate.maxPages())
	}
	return first, err
}
