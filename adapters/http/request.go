package http

import (
	"context"
	"errors"
	nethttp "net/http"
	"slices"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
)

// request is an http block.
type request struct {
	Get, Post, Put, Patch, Delete, Head *hcl.RequestURL

	Query    *hcl.KeyValues
	Headers  *hcl.KeyValues
	Body     body
	OKStatus []string
	As       string
	Response *schema.Type
	Hosts    []string
	Timeout  time.Duration
	MaxBody  hcl.Size
	Retry    *retry
	Paginate *paginate
}

// What a body is read as.
const (
	asJSON  = "json"
	asText  = "text"
	asBytes = "bytes"
)

func (r *request) spec() hcl.Spec {
	r.As, r.OKStatus = asJSON, []string{"2xx"}
	return hcl.Join(
		hcl.ExactlyOneOf("the request",
			hcl.Attr(&r.Get, "get", "The address of a GET: a path below the connection's base_url, or a whole URL.").AllowSecret(),
			hcl.Attr(&r.Post, "post", "The address of a POST.").AllowSecret(),
			hcl.Attr(&r.Put, "put", "The address of a PUT.").AllowSecret(),
			hcl.Attr(&r.Patch, "patch", "The address of a PATCH.").AllowSecret(),
			hcl.Attr(&r.Delete, "delete", "The address of a DELETE.").AllowSecret(),
			hcl.Attr(&r.Head, "head", "The address of a HEAD.").AllowSecret(),
		),
		hcl.Spec{
			hcl.Attr(&r.Query, "query", "Query parameters. Null leaves one out, a list repeats its name.").AllowSecret(),
			hcl.Attr(&r.Headers, "headers", "Headers, over those of the connection. Null leaves one out.").AllowSecret(),
		},
		r.Body.spec(),
		hcl.Spec{
			hcl.Attr(&r.OKStatus, "ok_status", "The statuses that are answers; the others fail the call.").DefaultDoc(`["2xx"]`),
			hcl.Attr(&r.As, "as", "What the body of the answer is: \"json\", \"text\" or \"bytes\".").DefaultDoc(`"json"`),
			hcl.Attr(&r.Response, "response", "The type of a JSON answer. It is checked; members that the type does not name pass."),
			hcl.Attr(&r.Hosts, "hosts", "The hosts that an address may name when its host is a value of the call: \"api.example.com\", \"*.example.com\", with a port where it is not the usual one."),
			hcl.Attr(&r.Timeout, "timeout", "How long one attempt may take.").DefaultDoc("the connection's"),
			hcl.Attr(&r.MaxBody, "max_body", "How large the answer may be, after decompression.").DefaultDoc("the connection's, else \"4MiB\""),
			hcl.Block(&r.Retry, "retry", "Asks again after a failure that may pass. Here, and not in the connection, it also covers verbs that may not be repeated at will.", (*retry).spec),
			hcl.Block(&r.Paginate, "paginate", "Follows the pages of a list.", (*paginate).spec),
		},
	)
}

// verb is the method and the address that were written.
func (r *request) verb() (string, *hcl.RequestURL) {
	for _, v := range []struct {
		method  string
		address *hcl.RequestURL
	}{
		{nethttp.MethodGet, r.Get}, {nethttp.MethodPost, r.Post}, {nethttp.MethodPut, r.Put},
		{nethttp.MethodPatch, r.Patch}, {nethttp.MethodDelete, r.Delete}, {nethttp.MethodHead, r.Head},
	} {
		if v.address != nil {
			return v.method, v.address
		}
	}
	return "", nil
}

// repeatable reports whether sending the request twice does its work once.
func (r *request) repeatable() bool {
	switch method, _ := r.verb(); method {
	case nethttp.MethodPost, nethttp.MethodPatch:
		return slices.ContainsFunc(r.Headers.Names(), func(name string) bool { return strings.EqualFold(name, "Idempotency-Key") })
	}
	return true
}

// Describe implements hcl.Described.
func (r *request) Describe(conn *hcl.Connection) (hcl.Effects, error) {
	method, address := r.verb()
	facts := hcl.Effects{
		Output:      r.output(method),
		Default:     hcl.DefaultResult{Member: "body"},
		ReadOnly:    method == nethttp.MethodGet || method == nethttp.MethodHead,
		Writes:      method == nethttp.MethodPut || method == nethttp.MethodPatch || method == nethttp.MethodDelete,
		Destructive: method == nethttp.MethodPut || method == nethttp.MethodPatch || method == nethttp.MethodDelete,
		Idempotent:  r.repeatable(),
		OpenWorld:   conn == nil,
	}
	switch {
	case r.Paginate != nil:
		facts.Default = hcl.DefaultResult{Member: "items"}
	case method == nethttp.MethodHead:
		facts.Default = hcl.DefaultResult{Members: []string{"status", "headers"}}
	case r.As == asText:
		facts.Default = hcl.DefaultResult{Text: "body"}
	case r.As == asBytes:
		facts.Default = hcl.DefaultResult{Document: "body"}
	}
	return facts, errors.Join(slices.Concat(r.check(method), r.checkHosts(address, conn))...)
}

func (r *request) check(method string) (errs []error) {
	if !slices.Contains([]string{asJSON, asText, asBytes}, r.As) {
		errs = append(errs, hcl.Blame(&r.As, "as is %q, %q or %q, and this is %q.", asJSON, asText, asBytes, r.As))
	}
	if r.Response != nil && r.As != asJSON {
		errs = append(errs, hcl.Blame(&r.Response, "response is the type of a JSON answer, and this one is read as %s.", r.As))
	}
	if _, err := parseStatuses(r.OKStatus); err != nil {
		errs = append(errs, hcl.Blame(&r.OKStatus, "%v", err))
	}
	if method == nethttp.MethodHead && r.Body.written() {
		errs = append(errs, hcl.Blame(&r.Head, "A HEAD has no body."))
	}
	if r.Body.Raw != nil {
		switch r.Body.Raw.Type().Kind {
		case schema.List, schema.Set, schema.Map, schema.Object:
			errs = append(errs, hcl.Blame(&r.Body.Raw, "body takes text or bytes. Write json = … to send a value as JSON."))
		}
	}
	errs = append(errs, headerNames(&r.Headers, r.Headers.Names())...)
	if r.Retry != nil {
		errs = append(errs, r.Retry.check()...)
	}
	if r.Paginate != nil {
		errs = append(errs, r.Paginate.check(r)...)
	}
	return errs
}

// output is the type of the root `output`.
func (r *request) output(method string) *schema.Type {
	anything := &schema.Type{Kind: schema.Any}
	integer := &schema.Type{Kind: schema.Integer}
	if r.Paginate != nil {
		return schema.ObjectOf(
			&schema.Member{Name: "items", Type: schema.ListOf(anything)},
			&schema.Member{Name: "pages", Type: integer},
			&schema.Member{Name: "truncated", Type: &schema.Type{Kind: schema.Bool}},
		)
	}
	return answerType(r.bodyType(method))
}

// answerType is the type of one answer.
func answerType(body *schema.Type) *schema.Type {
	return schema.ObjectOf(
		&schema.Member{Name: "status", Type: &schema.Type{Kind: schema.Integer}},
		&schema.Member{Name: "headers", Type: &schema.Type{Kind: schema.Map, Elem: &schema.Type{Kind: schema.String}}},
		&schema.Member{Name: "body", Type: body},
	)
}

func (r *request) bodyType(method string) *schema.Type {
	switch {
	case method == nethttp.MethodHead:
		return &schema.Type{Kind: schema.Null}
	case r.As == asText:
		return &schema.Type{Kind: schema.String}
	case r.As == asBytes:
		return &schema.Type{Kind: schema.Bytes}
	case r.Response != nil:
		return r.Response.Opened()
	}
	return &schema.Type{Kind: schema.Any}
}

// bind makes the Action of one block.
func bind(ctx context.Context, r *request, env adapters.Env) (adapters.Action, error) {
	s, ok := env.Connection.(*service)
	if !ok {
		s = newService(ctx, nil, defaultRedirects, env)
	}
	method, address := r.verb()
	a := &action{request: r, service: s, method: method, path: address, timeout: s.timeout, maxBody: int64(s.maxBody), repeatable: r.repeatable()}
	if r.Timeout > 0 {
		a.timeout = r.Timeout
	}
	if r.MaxBody > 0 {
		a.maxBody = int64(r.MaxBody)
	}
	a.ok, _ = parseStatuses(r.OKStatus)
	if r.Hosts != nil {
		a.path = address.WithHosts(r.Hosts)
	}
	if r.Response != nil {
		a.response = r.Response.Opened().Compile()
	}
	switch {
	case r.Retry != nil && !a.repeatable:
		a.retry = r.Retry.policy().forUnsafe()
	case r.Retry != nil:
		a.retry = r.Retry.policy()
	case a.repeatable:
		a.retry = s.retry
	}
	if reads := method == nethttp.MethodGet || method == nethttp.MethodHead; a.timeout == 0 && (a.retry != nil || !reads) {
		a.timeout = defaultTimeout
	}
	a.fixed = a.fixedHeader()
	if r.Paginate != nil {
		return &pages{action: a, paginate: r.Paginate}, nil
	}
	return a, nil
}
