package http

import (
	"cmp"
	"context"
	nethttp "net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/template/urltext"
)

// block is an http block.
type block struct {
	addresses [6]*hcl.RequestURL // by index in methods; one is set

	Query      *hcl.KeyValues
	Separators *hcl.KeyValues
	Headers    *hcl.KeyValues
	Body       body
	OKStatus   hcl.Statuses
	As         string
	Encoding   string
	MaxRows    int // of lines; 0 for the default
	Truncate   bool
	Response   *schema.Type
	Hosts      []string
	Timeout    time.Duration
	MaxBody    hcl.Size
	Retry      *retry
	Paginate   *paginate
}

// methods are the methods of requests. The argument of each holds the address.
var methods = [6]string{
	nethttp.MethodGet, nethttp.MethodPost, nethttp.MethodPut,
	nethttp.MethodPatch, nethttp.MethodDelete, nethttp.MethodHead,
}

// Values of the argument as.
const (
	asJSON      = "json"
	asJSONLines = "jsonl"
	asText      = "text"
	asBytes     = "bytes"
)

func (b *block) spec() hcl.Spec {
	b.As, b.OKStatus = asJSON, hcl.Statuses{"2xx"}
	verbs := make(hcl.Spec, len(methods))
	for i, method := range methods {
		doc := "The address of a " + method + "."
		if method == nethttp.MethodGet {
			doc = "The address of a GET: a path below the connection's base_url, or a whole URL."
		}
		verbs[i] = hcl.Attr(&b.addresses[i], strings.ToLower(method), doc).AllowSecret()
	}
	verbs[0] = verbs[0].Hint(` The method is the argument and its value the path: get = "/path".`,
		"method", "url", "path")
	return hcl.Join(
		hcl.ExactlyOneOf("the request", verbs...),
		hcl.Spec{
			hcl.Attr(&b.Query, "query",
				"Query parameters. Null omits a parameter, a list repeats it.").AllowSecret(),
			hcl.Attr(&b.Separators, "separators", "What separates the elements of a list that is one parameter of "+
				"query or one field of form, by the name of it: a comma for tags=a,b. An element is "+
				"escaped, so that a separator within it is none. An empty list is left out.").FixedKeys(),
			hcl.Headers(&b.Headers, "headers", "Headers, which override those of the connection if the block names "+
				"them. A map with names that come with the call cannot. Null omits a header."),
		},
		b.Body.spec(),
		hcl.Spec{
			hcl.Attr(&b.OKStatus, "ok_status",
				"The statuses of successful responses, such as 201 or \"2xx\". Any other status fails the call.").
				DefaultDoc(`["2xx"]`),
			hcl.Choice(&b.As, "as", "How the body of the response is decoded: \"json\", \"jsonl\" (a list of the JSON "+
				"values of its lines), \"text\" or \"bytes\". JSON with a key twice in one object is refused.",
				asJSON, asJSONLines, asText, asBytes).
				DefaultDoc(`"json"`),
			hcl.Encoding(&b.Encoding, "The encoding of the response, if its Content-Type names none or a wrong one.").
				DefaultDoc(`that of the Content-Type, else "utf-8"`),
			hcl.PositiveInt(&b.MaxRows, "max_rows", "The maximum number of lines that jsonl reads. output.truncated "+
				"is true if there were more.").DefaultDoc("10000"),
			hcl.TruncateAttr(&b.Truncate, "max_rows"),
			hcl.Attr(&b.Response, "response", "The type of a JSON response, or of each line of jsonl, which is "+
				"checked. Members that the type does not declare are allowed."),
			hcl.Attr(&b.Hosts, "hosts", "The allowed hosts if the host of the address is a value of the call: "+
				`"api.example.com", "*.example.com", with a port unless it is the default.`),
			hcl.Attr(&b.Timeout, "timeout", "The time limit for one attempt.").DefaultDoc("the connection's"),
			hcl.Attr(&b.MaxBody, "max_body",
				"The maximum size of a response after decompression.").DefaultDoc(`the connection's, or "4MiB"`),
			hcl.Block(&b.Retry, "retry", "Retries a request after a transient failure. Unlike in a connection, it "+
				"also applies to requests that are not safe to repeat.", (*retry).spec),
			hcl.Block(&b.Paginate, "paginate", "Reads all pages of a list.", (*paginate).spec),
		},
	)
}

// verb returns the method and the field of the address that the author wrote. Both are zero if there is
// none.
func (b *block) verb() (method string, address **hcl.RequestURL) {
	for i := range b.addresses {
		if b.addresses[i] != nil {
			return methods[i], &b.addresses[i]
		}
	}
	return "", new(*hcl.RequestURL)
}

// repeatable reports whether sending the request twice has the same effect as sending it once.
func (b *block) repeatable() bool {
	if method, _ := b.verb(); method != nethttp.MethodPost && method != nethttp.MethodPatch {
		return true
	}
	isKey := func(name string) bool { return strings.EqualFold(name, "Idempotency-Key") }
	return slices.ContainsFunc(b.Headers.Names(), isKey)
}

func isRead(method string) bool { return method == nethttp.MethodGet || method == nethttp.MethodHead }

// Describe implements hcl.Describer.
func (b *block) Describe(conn *hcl.Connection) (hcl.Effects, error) {
	method, _ := b.verb()
	overwrites := !isRead(method) && method != nethttp.MethodPost && method != ""
	effects := hcl.Effects{
		Output:      b.outputType(method),
		Default:     hcl.DefaultResult{Member: "body"},
		ReadOnly:    isRead(method),
		Writes:      overwrites,
		Destructive: overwrites,
		Idempotent:  b.repeatable(),
		OpenWorld:   conn == nil,
		Unlimited:   b.Paginate.unlimited(),
	}
	switch {
	case b.Paginate != nil:
		effects.Default, effects.Facts = hcl.DefaultResult{Member: "items"}, hcl.CutMembers("items")
	case method == nethttp.MethodHead:
		effects.Default = hcl.DefaultResult{Members: []string{"status", "headers"}}
	case b.As == asText:
		effects.Default = hcl.DefaultResult{Text: "body"}
	case b.As == asBytes:
		effects.Default = hcl.DefaultResult{Document: "body"}
	case b.As == asJSONLines:
		effects.Facts = hcl.CutMembers("body")
	}
	var checks adapters.Checks
	b.check(&checks, conn)
	return effects, checks.Err()
}

// Effects implements hcl.EffectLister.
func (b *block) Effects(*hcl.Connection) []hcl.Effect {
	method, address := b.verb()
	effects := []hcl.Effect{{Verb: method, Source: []any{address}}}
	if b.Hosts != nil {
		effects = append(effects, hcl.Effect{Verb: "HOST", Source: []any{&b.Hosts}})
	}
	body := &b.Body
	for _, field := range []any{&body.JSON, &body.Form, &body.Multipart, &body.Raw} {
		effects = append(effects, hcl.Effect{Verb: "BODY", Values: field})
	}
	return append(effects, hcl.Effect{Verb: "QUERY", Values: &b.Query})
}

func (b *block) check(checks *adapters.Checks, conn *hcl.Connection) {
	method, address := b.verb()
	checks.Refuse(b.Encoding != "" && (b.As == asBytes || method == nethttp.MethodHead), &b.Encoding,
		"encoding is that of text, but this response is read as bytes or has no body. Remove encoding.")
	const rowsOnly = `This argument requires as = "jsonl". The pages of a list have max_pages in paginate.`
	checks.Refuse(b.MaxRows > 0 && b.As != asJSONLines, &b.MaxRows, rowsOnly)
	checks.Refuse(b.Truncate && b.As != asJSONLines, &b.Truncate, rowsOnly)
	checks.Refuse(b.Response != nil && b.As != asJSON && b.As != asJSONLines, &b.Response,
		"response is the type of a JSON response, but this response is decoded as %s.", b.As)
	_, err := parseStatuses(b.OKStatus)
	checks.Refuse(err != nil, &b.OKStatus, "%v", err)
	checks.Refuse(method == nethttp.MethodHead && b.Body.isSet(), address, "A HEAD request has no body.")
	if b.Body.Raw != nil {
		compound := []schema.Kind{schema.List, schema.Set, schema.Map, schema.Object}
		checks.Refuse(slices.Contains(compound, b.Body.Raw.Type().Kind), &b.Body.Raw,
			"body must be text or bytes. Write json = … to send a value as JSON.")
	}
	b.checkSeparators(checks)
	adapters.CheckHeaderNames(checks, &b.Headers, b.Headers.Names())
	if conn != nil {
		conn.Config.(*connection).Auth.CheckSigned(checks, &b.Headers, b.Headers.Names())
	}
	if b.Retry != nil {
		b.Retry.check(checks)
	}
	if b.Paginate != nil {
		checks.Refuse(b.As != asJSON || method == nethttp.MethodHead, &b.Paginate,
			"Pages are decoded as JSON. Remove as, and use a method whose response has a body.")
		b.Paginate.check(checks, b.Body.JSON != nil)
	}
	b.checkHosts(checks, conn, address)
}

// checkSeparators requires separators that are known at load, of one character each, for names that may be sent.
func (b *block) checkSeparators(checks *adapters.Checks) {
	for _, name := range b.Separators.Names() {
		checks.Refuse(!b.Query.MayHave(name) && !b.Body.Form.MayHave(name), &b.Separators,
			"separators has %q, but neither query nor form has it. Write the name as it is there.", name)
		separator := b.Separators.Constant(name)
		c, size := utf8.DecodeRuneInString(separator)
		checks.Refuse(size != len(separator) || size == 0 || unicode.IsLetter(c) || unicode.IsDigit(c), &b.Separators,
			`separators has one character for each name, which is no letter and no digit, such as { %s = "," }.`, name)
	}
}

// separators returns what separates the elements of lists, by the names of parameters and fields.
func (b *block) separators() map[string]string {
	all := map[string]string{}
	for _, name := range b.Separators.Names() {
		all[name] = b.Separators.Constant(name)
	}
	return all
}

// checkHosts requires hosts if the host of the address is a value of the call, and rejects it otherwise.
func (b *block) checkHosts(checks *adapters.Checks, conn *hcl.Connection, address **hcl.RequestURL) {
	needed := conn == nil && (*address).NeedsHosts()
	checks.Refuse(conn != nil && b.Hosts != nil, &b.Hosts, "The host is that of the connection. Remove hosts.")
	checks.Refuse(needed && len(b.Hosts) == 0, address, "The host of this address is a value of the call, so the "+
		`block must list the allowed hosts: hosts = ["api.example.com"].`)
	checks.Refuse(conn == nil && !needed && b.Hosts != nil, &b.Hosts,
		"The host is part of the address. Remove hosts, or make the whole address a value of the call.")
	for _, host := range b.Hosts {
		checks.Refuse(!urltext.ValidHost(host), &b.Hosts,
			`%q is not a host. Write one such as "api.example.com", "*.example.com" or "localhost:8080".`, host)
	}
}

// outputType returns the type of the root output.
func (b *block) outputType(method string) *schema.Type {
	if b.Paginate != nil {
		return schema.ObjectOf(
			&schema.Member{Name: "items", Type: schema.ListOf(&schema.Type{Kind: schema.Any})},
			&schema.Member{Name: "pages", Type: &schema.Type{Kind: schema.Integer}},
			&schema.Member{Name: "truncated", Type: &schema.Type{Kind: schema.Bool}},
		)
	}
	if b.As == asJSONLines {
		return responseType(b.bodyType(method), truncatedMember)
	}
	return responseType(b.bodyType(method))
}

// maxRows returns the maximum number of lines of a response.
func (b *block) maxRows() int { return cmp.Or(b.MaxRows, defaultMaxRows) }

// All responses share these, because a thousand tools would keep a thousand copies.
var (
	statusMember  = &schema.Member{Name: "status", Type: &schema.Type{Kind: schema.Integer}}
	headersMember = &schema.Member{
		Name: "headers", Type: &schema.Type{Kind: schema.Map, Elem: &schema.Type{Kind: schema.String}},
	}
	truncatedMember = &schema.Member{Name: "truncated", Type: &schema.Type{Kind: schema.Bool}}
	anyBody         = &schema.Type{Kind: schema.Any}
)

// responseType returns the type of one response as output, with more members.
func responseType(body *schema.Type, more ...*schema.Member) *schema.Type {
	members := []*schema.Member{statusMember, headersMember, {Name: "body", Type: body}}
	return schema.ObjectOf(append(members, more...)...)
}

func (b *block) bodyType(method string) *schema.Type {
	switch {
	case method == nethttp.MethodHead:
		return &schema.Type{Kind: schema.Null}
	case b.As == asText:
		return &schema.Type{Kind: schema.String}
	case b.As == asBytes:
		return &schema.Type{Kind: schema.Bytes}
	}
	each := anyBody
	if b.Response != nil {
		each = b.Response.Opened()
	}
	if b.As == asJSONLines {
		return schema.ListOf(each)
	}
	return each
}

func bind(_ context.Context, b *block, env adapters.Env) (adapters.Action, error) {
	s, ok := env.Connection.(*service)
	if !ok {
		s = newService(nil, defaultRedirects, env)
	}
	method, address := b.verb()
	a := &action{
		block: b, service: s, method: method, address: *address, timeout: cmp.Or(b.Timeout, s.timeout),
		maxBody: int64(cmp.Or(b.MaxBody, s.maxBody)), repeatable: b.repeatable(),
	}
	a.okStatus, _ = parseStatuses(b.OKStatus)
	a.separators = b.separators()
	if b.Hosts != nil {
		a.address = a.address.WithHosts(b.Hosts)
	}
	if b.Response != nil {
		a.response = b.bodyType(method).Compile()
	}
	switch {
	case b.Retry != nil:
		a.retry = b.Retry.policy(a.repeatable)
	case a.repeatable:
		a.retry = s.retry
	}
	if a.timeout == 0 && (a.retry != nil || !isRead(method)) {
		a.timeout = defaultTimeout
	}
	a.span = newSpanNames(a)
	a.sharedHeader, a.fixedHeaders = a.newSharedHeader(), a.fixHeaders()
	if b.Paginate != nil {
		return &paginatedAction{action: a, paginate: b.Paginate}, nil
	}
	return a, nil
}
