package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-resty/resty/v2"

	"hatchel/runtime/approval"
)

// keyVariable holds the key, because what stands on a command line can be read by others on the machine.
const keyVariable = "HATCHEL_KEY"

// remoteDesk decides through the HTTP API of a server.
type remoteDesk struct {
	client *resty.Client
	server string
}

const (
	remoteTime    = 30 * time.Second // that one request may take
	largestAnswer = 1 << 30
)

// newRemote is the server at a URL, which may be that of its endpoint.
func newRemote(server string) (reviewed, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, misusef("--server is the URL of a server, as in https://tools.example.com, and got %q", server)
	}
	if u.Scheme == "http" && !isLoopback(u.Host) && u.Hostname() != "localhost" {
		return nil, misusef("--server: with http anybody on the way to %s could read the key. Use https", u.Host)
	}
	key := os.Getenv(keyVariable)
	if key == "" {
		return nil, misusef("--server: put the key that says who you are into %s", keyVariable)
	}
	if strings.TrimSpace(key) != key || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, misusef("--server: what %s holds cannot be a key", keyVariable)
	}
	base := strings.TrimSuffix(strings.TrimSuffix(u.Scheme+"://"+u.Host+u.EscapedPath(), "/"), "/mcp")
	client := resty.New().SetBaseURL(base).SetTimeout(remoteTime).SetAuthToken(key).SetResponseBodyLimit(largestAnswer).
		SetHeader("User-Agent", "hatchel/"+release()).SetHeader("Accept", "application/json").
		SetRedirectPolicy(resty.NoRedirectPolicy()).SetDisableWarn(true). // of http, which is this machine
		SetLogger(silent{})
	return &remoteDesk{client, base}, nil
}

// silent drops what the client library would say: it is in the error, too.
type silent struct{}

func (silent) Errorf(string, ...any) {}
func (silent) Warnf(string, ...any)  {}
func (silent) Debugf(string, ...any) {}

func (d *remoteDesk) close() { d.client.GetClient().CloseIdleConnections() }

func (d *remoteDesk) list(ctx context.Context, q approval.ListQuery) ([]*listed, string, error) {
	status := string(q.Status)
	if status == "" {
		status = "all"
	}
	request := d.client.R().SetQueryParams(map[string]string{"status": status, "limit": strconv.Itoa(q.Limit), "after": q.After})
	body, err := d.ask(ctx, request, http.MethodGet, "/approvals")
	if err != nil {
		return nil, "", err
	}
	var page struct {
		Approvals []json.RawMessage `json:"approvals"`
		Next      string            `json:"next"`
	}
	if json.Unmarshal(body, &page) != nil {
		return nil, "", d.strange()
	}
	list := make([]*listed, len(page.Approvals))
	for i, text := range page.Approvals {
		if list[i], err = readListed(approval.Harmless(text)); err != nil {
			return nil, "", d.strange()
		}
	}
	return list, page.Next, nil
}

func (d *remoteDesk) find(ctx context.Context, id string) (*listed, error) {
	return d.one(ctx, d.client.R(), http.MethodGet, "/approvals/"+url.PathEscape(id))
}

func (d *remoteDesk) decide(ctx context.Context, id string, approved bool, why string) (*listed, error) {
	verb := "reject"
	if approved {
		verb = "approve"
	}
	request := d.client.R().SetHeader("Content-Type", "application/json").SetBody(map[string]string{"reason": why})
	return d.one(ctx, request, http.MethodPost, "/approvals/"+url.PathEscape(id)+"/"+verb)
}

func (d *remoteDesk) one(ctx context.Context, request *resty.Request, method, path string) (*listed, error) {
	body, err := d.ask(ctx, request, method, path)
	if err != nil {
		return nil, err
	}
	a, err := readListed(approval.Harmless(body))
	if err != nil {
		return nil, d.strange()
	}
	return a, nil
}

func (d *remoteDesk) strange() error {
	return failf("%s has answered something else than approvals: is this the address of a hatchel server?", d.server)
}

// ask is the answer to a request, or why there is none.
func (d *remoteDesk) ask(ctx context.Context, request *resty.Request, method, path string) ([]byte, error) {
	answer, err := request.SetContext(ctx).Execute(method, path)
	if answer != nil && answer.StatusCode() >= 300 && answer.StatusCode() < 400 {
		return nil, failf("%s redirects, which is not followed with a key: name the address itself", d.server)
	}
	if err != nil {
		return nil, d.unanswered(err, method)
	}
	if answer.StatusCode() == http.StatusOK {
		return answer.Body(), nil
	}
	var said complaint
	if json.Unmarshal(answer.Body(), &said) != nil || said.Text == "" {
		return nil, failf("%s has answered with status %d and without a reason: is this the address of a hatchel server?", d.server, answer.StatusCode())
	}
	text := strings.TrimSuffix(printable(said.Text), ".")
	switch answer.StatusCode() {
	case http.StatusUnauthorized:
		return nil, failf("%s does not know the key in %s: %s", d.server, keyVariable, text)
	case http.StatusForbidden:
		return nil, failf("%s does not let you do this: %s", d.server, text)
	case http.StatusConflict:
		return nil, &approval.AlreadyError{Status: said.Status, Decision: said.Decision}
	case http.StatusNotFound:
		return nil, approval.ErrUnknown
	}
	return nil, failf("%s: %s", d.server, text)
}

// unanswered says why a server has not answered.
func (d *remoteDesk) unanswered(err error, method string) error {
	var host x509.HostnameError
	var unknown x509.UnknownAuthorityError
	var certificate *tls.CertificateVerificationError
	var dns *net.DNSError
	after := ""
	if method == http.MethodPost {
		after = "; whether anything was decided is not known: see hatchel approvals show"
	}
	var timeout net.Error
	switch {
	case errors.As(err, &host):
		return failf("%s has the certificate of another name", d.server)
	case errors.As(err, &unknown):
		return failf("%s has a certificate that is not signed by an authority that is trusted here; SSL_CERT_FILE names a file of more", d.server)
	case errors.As(err, &certificate):
		return failf("%s has a certificate that cannot be accepted: it has expired, or is for something else", d.server)
	case errors.As(err, new(tls.RecordHeaderError)):
		return failf("%s does not speak TLS", d.server)
	case errors.As(err, &dns):
		return failf("%s cannot be found: its name is not known", d.server)
	case errors.Is(err, syscall.ECONNREFUSED):
		return failf("%s cannot be reached: nobody listens there", d.server)
	case errors.Is(err, context.Canceled):
		return failf("%s was not waited for%s", d.server, after)
	case errors.As(err, &timeout) && timeout.Timeout():
		return failf("%s does not answer in time%s", d.server, after)
	}
	return failf("the connection to %s was lost%s", d.server, after)
}
