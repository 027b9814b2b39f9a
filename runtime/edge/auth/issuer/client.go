package issuer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"hatchel/internal/contentcoding"
	"hatchel/internal/neterror"
	"hatchel/internal/proxy"
	"hatchel/internal/sendonce"
)

const (
	requestTimeout   = 10 * time.Second
	maxResponseBytes = 1 << 20
)

// Client sends requests to an authorization server. It follows no redirects, because what it asks for must come from
// the declared host, and what it sends must not reach another one. It may be used concurrently.
type Client struct{ http http.Client }

// NewClient returns a client.
func NewClient() *Client {
	transport := proxy.NewTransport()
	transport.MaxResponseHeaderBytes = 64 << 10
	return &Client{http.Client{
		Timeout: requestTimeout, Transport: contentcoding.Transport{Next: sendonce.New(transport)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Response is a response that was read.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends a request and reads the response. It fails for one that is larger than 1 MiB.
func (c *Client) Do(req *http.Request) (*Response, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, withoutResponse(req, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponseBytes+1))
	switch {
	case err != nil:
		return nil, withoutResponse(req, err)
	case len(body) > maxResponseBytes:
		return nil, fmt.Errorf("%s answers with more than %d bytes", req.URL, maxResponseBytes)
	}
	return &Response{resp.StatusCode, resp.Header, bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))}, nil
}

// withoutResponse returns the error of a request. Errors of package net/http quote what a server has sent, in which may
// be a token; only those are kept that are about the connection.
func withoutResponse(req *http.Request, err error) error {
	_, isOp := errors.AsType[*net.OpError](err)
	_, isCoding := errors.AsType[*contentcoding.Error](err)
	isEnd := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.Canceled)
	if isOp || isCoding || isEnd || neterror.Of(err) != neterror.Unknown || proxy.ErrorText(err) != "" {
		return err
	}
	return fmt.Errorf("%s does not answer with valid HTTP", req.URL)
}

// CloseIdleConnections closes the connections that no request uses.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// get requests a JSON document.
func (c *Client) get(ctx context.Context, location string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, location, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.Do(req)
	switch {
	case err != nil:
		return err
	case resp.Status != http.StatusOK:
		return fmt.Errorf("%s answers with status %d", location, resp.Status)
	case json.Unmarshal(resp.Body, into) != nil:
		return fmt.Errorf("%s does not answer with the expected JSON", location)
	}
	return nil
}
