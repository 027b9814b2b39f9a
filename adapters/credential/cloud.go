// Package credential authenticates connections: it fetches credentials and keeps them until they end. It contacts
// nobody before a call needs a credential.
package credential

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/internal/backoff"
	"hatchel/internal/neterror"
	"hatchel/internal/proxy"
	"hatchel/internal/sendonce"
)

// Cloud is the machine as sources of cloud credentials see it: its environment, and the clients that ask the services
// of a cloud. It is immutable and may be used concurrently.
type Cloud struct {
	Getenv func(name string) string
	// Metadata asks metadata services: addresses of the machine itself, or of its link. It uses no proxy, and all
	// attempts together end after a second.
	Metadata *Client
	// Services asks token services. It uses the proxies of the environment.
	Services *Client
}

// Network is how the clients of a Cloud reach addresses. The zero Network is that of the machine; tests dial services
// of their own.
type Network struct {
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	TLS  *tls.Config // nil for the certificate authorities of the machine
}

const (
	metadataTimeout = time.Second
	serviceTimeout  = 10 * time.Second
	maxAnswer       = 64 << 10
)

// NewCloud returns the machine, with the environment that getenv reads.
func NewCloud(getenv func(name string) string, n Network) *Cloud {
	metadata, services := newTransport(n), newTransport(n)
	proxy.Configure(services)
	return &Cloud{
		Getenv:   getenv,
		Metadata: newClient(metadata, metadataTimeout),
		Services: newClient(services, serviceTimeout),
	}
}

// NewMachine returns the machine of the process.
func NewMachine() *Cloud { return NewCloud(os.Getenv, Network{}) }

// newTransport returns a transport without a proxy. It keeps no connection, because credentials are fetched rarely.
func newTransport(n Network) *http.Transport {
	return &http.Transport{
		DialContext:            n.Dial,
		TLSClientConfig:        n.TLS,
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: maxAnswer,
	}
}

// Client asks the services of a cloud. It follows no redirect and reads at most 64 KiB of an answer. It may be used
// concurrently.
type Client struct {
	http    *http.Client
	timeout time.Duration
}

func newClient(t *http.Transport, timeout time.Duration) *Client {
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{http: &http.Client{Transport: sendonce.New(t), CheckRedirect: noRedirect}, timeout: timeout}
}

// Question is a request to a service of a cloud.
type Question struct {
	Of     string // names the service in errors, such as "the instance metadata"
	Method string // GET if it is empty
	URL    string
	Header http.Header
	Body   []byte
	// MayPass reports whether another attempt may succeed after an answer whose status is neither 429 nor 5xx; nil for
	// none.
	MayPass func(Answer) bool
}

// NewForm returns the question that posts a form.
func NewForm(of, address string, form url.Values) Question {
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	return Question{Of: of, Method: http.MethodPost, URL: address, Header: header, Body: []byte(form.Encode())}
}

// Answer is the answer to a Question. Its body may have a credential.
type Answer struct {
	Of     string
	Status int
	Header http.Header
	Body   []byte

	attempts int
	asked    time.Time
	question Question
}

// attemptPauses are the pauses between attempts; their sum is less than metadataTimeout.
var attemptPauses = backoff.Policy{First: 50 * time.Millisecond, Max: 400 * time.Millisecond, Jitter: 0.2}

// maxAttempts bounds how often a question is asked.
const maxAttempts = 3

// Ask sends a question and returns its answer, whatever its status is. It is repeated after a failure that may pass:
// two answers are two credentials, of which one is used. The error names the service, and has neither the address nor
// the answer.
func (c *Client) Ask(ctx context.Context, q Question) (a Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var n int
	for n = range attemptPauses.Attempts(ctx) {
		a, err = c.send(ctx, q)
		if a.attempts = n; n == maxAttempts || !q.mayPass(a, err) || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return Answer{}, c.failure(q, n, err)
	}
	return a, nil
}

// mayPass reports whether another attempt may succeed. Metadata services answer 429 and 5xx while they start.
func (q Question) mayPass(a Answer, err error) bool {
	if _, refused := errors.AsType[*proxy.Error](err); refused || errors.Is(err, errTooLong) {
		return false
	}
	return err != nil || a.Status == http.StatusTooManyRequests || a.Status >= 500 || q.MayPass != nil && q.MayPass(a)
}

var errTooLong = fmt.Errorf("answered more than %d KiB", maxAnswer>>10)

func (c *Client) send(ctx context.Context, q Question) (a Answer, err error) {
	var body io.Reader
	if q.Body != nil {
		body = bytes.NewReader(q.Body)
	}
	req, err := http.NewRequestWithContext(ctx, q.Method, q.URL, body)
	if err != nil {
		return a, err
	}
	for name, values := range q.Header {
		req.Header[name] = values
	}
	a.Of, a.asked, a.question = q.Of, time.Now(), q
	resp, err := c.http.Do(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	a.Status, a.Header = resp.StatusCode, resp.Header
	a.Body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(a.Body) > maxAnswer {
		err = errTooLong
	}
	return a, err
}

// failure returns the error of a question that had no answer. A *url.Error has the address, which may have a
// credential.
func (c *Client) failure(q Question, attempts int, err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	reason := neterror.Of(err)
	switch proxyText := proxy.ErrorText(err); {
	case errors.Is(err, errTooLong):
		return fmt.Errorf("%s %w", q.Of, errTooLong)
	case proxyText != "":
		return fmt.Errorf("%s is not reachable: %s", q.Of, proxyText)
	case errors.Is(err, context.Canceled):
		return err
	case reason == neterror.Timeout:
		return fmt.Errorf("%s did not answer within %s", q.Of, c.timeout)
	case reason.IsTLS():
		return fmt.Errorf("%s is not reachable: its certificate is not accepted, or it does not speak TLS", q.Of)
	}
	text := adapters.DialReason(err)
	if text == "" {
		text = "the connection failed"
	}
	return fmt.Errorf("%s is not reachable: %s%s", q.Of, text, describeAttempts(attempts))
}

func describeAttempts(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" (%d attempts)", n)
}

// Served returns the time of the answer by the clock of the service, or by that of the machine if the service does not
// say it. What a service says of times is compared with it.
func (a Answer) Served() time.Time {
	if served, err := http.ParseTime(a.Header.Get("Date")); err == nil {
		return served
	}
	return a.asked
}

// maxSkew is how far the clock of a service may be from that of the machine before an error names the difference. An
// assertion about a client is valid for as long.
const maxSkew = time.Minute

// Quotes reports whether a text of the answer was sent as a word of a header or as a field of the form, which may be a
// credential.
func (a Answer) Quotes(text string) bool {
	sent, _ := url.ParseQuery(string(a.question.Body)) // what is no form has no fields
	for name, values := range a.question.Header {
		sent[name] = strings.Fields(strings.Join(values, " "))
	}
	for _, texts := range sent {
		if slices.Contains(texts, text) {
			return true
		}
	}
	return false
}

// Failure returns the error of an answer that is no success: its status, and codes, which must be words of the
// protocol and not texts of the answer. A code that quotes what was sent is left out. It names a clock that is wrong.
func (a Answer) Failure(codes ...string) error {
	text := strings.TrimSpace(fmt.Sprintf("%s answered %d %s", a.Of, a.Status, http.StatusText(a.Status)))
	if a.Status/100 == 3 {
		text += ", a redirect, which is not followed"
	}
	for _, code := range codes {
		if code != "" && !a.Quotes(code) {
			text += ", " + code
		}
	}
	return errors.New(text + describeAttempts(a.attempts) + a.describeSkew())
}

func (a Answer) describeSkew() string {
	if text := DescribeSkew(a.asked, a.Served()); text != "" {
		return "; " + text
	}
	return ""
}

// DescribeSkew says that the clock of the machine, which showed one time when that of a service showed the other, is
// wrong; empty if it is not.
func DescribeSkew(machine, service time.Time) string {
	switch skew := machine.Sub(service); {
	case skew > maxSkew:
		return fmt.Sprintf("the clock of this machine is %s ahead of that of the service", skew.Round(time.Minute))
	case skew < -maxSkew:
		return fmt.Sprintf("the clock of this machine is %s behind that of the service", (-skew).Round(time.Minute))
	}
	return ""
}

// SignInError returns the fault of a call that gets no credential, of which nothing was sent. It returns the error of a
// call whose context has ended as it is.
func SignInError(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &adapters.Fault{Message: "signing in failed: " + err.Error(), Cause: err, NotSent: true}
}
