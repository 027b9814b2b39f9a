package hcl

import (
	"errors"
	"time"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	mediapkg "hatchel/hcl/media"
	"hatchel/hcl/schema"
	"hatchel/hcl/template/sqltext"
)

// The kinds of these tests have the shape of the real ones: the same arguments with the same Go types, so that every way of decoding is covered
// without a backend that does anything.

func testKinds() Kinds {
	return Kinds{
		Backends: []BackendKind{
			{Name: "http", Connections: []string{"http"}, New: func() (Describer, decode.Spec) { b := &httpBlock{}; return b, b.spec() }},
			{Name: "sql", Connections: []string{"sqlite", "postgres", "mysql"}, ConnectionRequired: true, New: func() (Describer, decode.Spec) { b := &sqlBlock{}; return b, b.spec() }},
			{Name: "shell", Connections: []string{"shell"}, New: func() (Describer, decode.Spec) { b := &shellBlock{}; return b, b.spec() }},
			{Name: "csv", New: func() (Describer, decode.Spec) { b := &csvBlock{}; return b, b.spec() }},
			{Name: "file", New: func() (Describer, decode.Spec) { b := &fileBlock{}; return b, b.spec() }},
		},
		Connections: []ConnectionKind{
			{Name: "http", New: func() (any, decode.Spec) { c := &httpConnection{}; return c, c.spec() }},
			{Name: "sqlite", Dialect: sqltext.SQLite, New: func() (any, decode.Spec) { c := &database{}; return c, c.spec("file") }},
			{Name: "postgres", Dialect: sqltext.PostgreSQL, New: func() (any, decode.Spec) { c := &database{}; return c, c.spec("url") }},
			{Name: "mysql", Dialect: sqltext.MySQL, New: func() (any, decode.Spec) { c := &database{}; return c, c.spec("url") }},
			{Name: "shell", New: func() (any, decode.Spec) { c := &shellConnection{}; return c, c.spec() }},
		},
	}
}

func is(kind schema.Kind) *schema.Type { return &schema.Type{Kind: kind} }

func out(name string, t *schema.Type) *schema.Member { return &schema.Member{Name: name, Type: t} }

type httpBlock struct {
	Get, Post, Delete *hclexpr.RequestURL
	Query, Headers    *hclexpr.KeyValues
	JSON, Body        *hclexpr.Expr
	Form              *hclexpr.KeyValues
	Hosts, OKStatus   []string
	As                string
	Response          *schema.Type
	Timeout           time.Duration
	MaxBody           decode.Size
	Retry             *retryBlock
	Paginate          *paginateBlock
}

type retryBlock struct {
	Attempts int
	On       []int
	Factor   float64
}

type paginateBlock struct {
	Param       *hclexpr.StringExpr
	Items, Next *hclexpr.Program
	MaxPages    int
}

func (b *httpBlock) spec() decode.Spec {
	b.As = "json"
	return decode.Join(
		decode.ExactlyOneOf("the request",
			decode.Attr(&b.Get, "get", "The address of a GET.").AllowSecret(),
			decode.Attr(&b.Post, "post", "The address of a POST.").AllowSecret(),
			decode.Attr(&b.Delete, "delete", "The address of a DELETE.").AllowSecret()),
		decode.AtMostOneOf("the body",
			decode.Attr(&b.JSON, "json", "A value sent as JSON.").AllowSecret(),
			decode.Attr(&b.Form, "form", "Fields sent as a form.").AllowSecret(),
			decode.Attr(&b.Body, "body", "A text or bytes sent as they are.").AllowSecret().AllowFile()),
		decode.Spec{
			decode.Attr(&b.Query, "query", "Query parameters.").AllowSecret(),
			decode.Attr(&b.Headers, "headers", "Headers.").AllowSecret(),
			decode.Attr(&b.Hosts, "hosts", "Hosts that may be named."),
			decode.Attr(&b.OKStatus, "ok_status", "Statuses that are answers."),
			decode.Attr(&b.As, "as", "What the body is."),
			decode.Attr(&b.Response, "response", "The type of the answer."),
			decode.Attr(&b.Timeout, "timeout", "How long one attempt takes."),
			decode.Attr(&b.MaxBody, "max_body", "How large the answer may be."),
			decode.Block(&b.Retry, "retry", "Asks again.", func(r *retryBlock) decode.Spec {
				return decode.Spec{
					decode.Attr(&r.Attempts, "attempts", "How often.").Require(),
					decode.Attr(&r.On, "on", "After which statuses."),
					decode.Attr(&r.Factor, "factor", "How the pause grows."),
				}
			}),
			decode.Block(&b.Paginate, "paginate", "Follows pages.", func(p *paginateBlock) decode.Spec {
				return append(decode.WithOutput(httpOutput(eval.AnyType),
					decode.Attr(&p.Items, "items", "The items of a page.").Require(),
					decode.Attr(&p.Next, "next", "What the next page is.").Require()),
					decode.Attr(&p.Param, "param", "The parameter that names the page."),
					decode.Attr(&p.MaxPages, "max_pages", "How many pages at most."))
			}),
		},
	)
}

func (b *httpBlock) Describe(conn *Connection) (Effects, error) {
	address := b.Get
	for _, a := range []*hclexpr.RequestURL{b.Post, b.Delete} {
		if a != nil {
			address = a
		}
	}
	var errs []error
	if address != nil && address.NeedsHosts() && len(b.Hosts) == 0 {
		errs = append(errs, diag.Blame(&b.Get, "The host of this address is a value: say which hosts it may name, hosts = [\"api.example.com\"]."))
	}
	body := eval.AnyType
	if b.Response != nil {
		body = b.Response.Opened()
	}
	f := Effects{
		ReadOnly: b.Get != nil, Writes: b.Delete != nil, Destructive: b.Delete != nil, Idempotent: b.Post == nil, OpenWorld: conn == nil,
		Output:  httpOutput(body),
		Default: DefaultResult{Member: "body"},
	}
	switch b.As {
	case "bytes":
		f.Output.Members[2].Type, f.Default = is(schema.Bytes), DefaultResult{}
	case "text":
		f.Output.Members[2].Type, f.Default = is(schema.String), DefaultResult{Text: "body"}
	case "json":
	default:
		errs = append(errs, diag.Blame(&b.As, "as is \"json\", \"text\" or \"bytes\", and this is %q.", b.As))
	}
	return f, errors.Join(errs...)
}

func httpOutput(body *schema.Type) *schema.Type {
	return schema.ObjectOf(out("status", is(schema.Integer)), out("headers", &schema.Type{Kind: schema.Map, Elem: is(schema.String)}), out("body", body))
}

type httpConnection struct {
	BaseURL string
	Headers *hclexpr.KeyValues
	Auth    *authBlock
}

type authBlock struct {
	Bearer decode.SecretText
	OAuth2 *oauth2Block
}

type oauth2Block struct{ Exchange bool }

// OnBehalf implements OnBehalf.
func (c *httpConnection) OnBehalf() any {
	if c.Auth == nil || c.Auth.OAuth2 == nil || !c.Auth.OAuth2.Exchange {
		return nil
	}
	return &c.Auth.OAuth2.Exchange
}

func (c *httpConnection) spec() decode.Spec {
	return decode.Spec{
		decode.Attr(&c.BaseURL, "base_url", "What paths follow.").Require(),
		decode.Attr(&c.Headers, "headers", "Headers of every request.").AllowSecret().FixedKeys(),
		decode.Block(&c.Auth, "auth", "How requests sign in.", func(a *authBlock) decode.Spec {
			return decode.Spec{
				decode.Attr(&a.Bearer, "bearer", "A bearer token.").AllowSecret(),
				decode.Block(&a.OAuth2, "oauth2", "A token that is fetched.", func(o *oauth2Block) decode.Spec {
					return decode.Spec{decode.Attr(&o.Exchange, "exchange", "It is made from the caller's own.")}
				}),
			}
		}),
	}
}

func (c *httpConnection) Check() error {
	if c.BaseURL == "" || c.BaseURL[0] != 'h' {
		return diag.Blame(&c.BaseURL, "base_url is a whole URL such as \"https://shop.example/api/v1\".")
	}
	return nil
}

type sqlBlock struct {
	Query, Exec *hclexpr.SQL
	Statement   *hclexpr.Expr
	Each        *hclexpr.Expr
	MaxRows     int
}

func (b *sqlBlock) spec() decode.Spec {
	return decode.Join(
		decode.EachField(&b.Each, "each", "Runs exec once an element.", decode.ExactlyOneOf("the statement",
			decode.Attr(&b.Query, "query", "A statement that reads."),
			decode.Attr(&b.Exec, "exec", "A statement that writes, or a list of them."),
			decode.Attr(&b.Statement, "statement", "A whole statement of the caller."))...),
		decode.Spec{decode.Attr(&b.MaxRows, "max_rows", "How many rows at most.")},
	)
}

func (b *sqlBlock) Describe(*Connection) (Effects, error) {
	row := &schema.Type{Kind: schema.Map, Elem: eval.AnyType}
	return Effects{
		ReadOnly: b.Exec == nil, Writes: b.Exec != nil, Destructive: b.Exec != nil,
		Output:  schema.ObjectOf(out("rows", schema.ListOf(row)), out("row", row.AsNullable()), out("affected", is(schema.Integer)), out("results", schema.ListOf(eval.AnyType))),
		Default: DefaultResult{Member: "rows"},
	}, nil
}

type database struct {
	Where string
	Mode  string
}

func (c *database) spec(where string) decode.Spec {
	return decode.Spec{
		decode.Attr(&c.Where, where, "Where the data are.").Require(),
		decode.Attr(&c.Mode, "mode", "ro or rw."),
	}
}

type shellBlock struct {
	Command    *hclexpr.Argv
	Pipe       *hclexpr.Pipe
	Script     *hclexpr.Script
	Stdin      *hclexpr.StringExpr
	Env        *hclexpr.KeyValues
	InheritEnv []string
	OKCodes    []int
	Loud       bool
}

func (b *shellBlock) spec() decode.Spec {
	return decode.Join(
		decode.ExactlyOneOf("what is run",
			decode.Attr(&b.Command, "command", "A command as a list of words."),
			decode.Attr(&b.Pipe, "pipe", "Commands that read each other."),
			decode.Attr(&b.Script, "script", "A script for sh.")),
		decode.Spec{
			decode.Attr(&b.Stdin, "stdin", "What the command reads."),
			decode.Attr(&b.Env, "env", "Variables of the environment.").AllowSecret().FixedKeys(),
			decode.Attr(&b.InheritEnv, "inherit_env", "Variables that are passed on."),
			decode.Attr(&b.OKCodes, "ok_codes", "Exit codes that are answers."),
			decode.Attr(&b.Loud, "merge", "Whether stderr is part of the output."),
		},
	)
}

func (b *shellBlock) Describe(*Connection) (Effects, error) {
	return Effects{
		OpenWorld: true, Destructive: true,
		Output:  schema.ObjectOf(out("stdout", is(schema.String)), out("stderr", is(schema.String)), out("code", is(schema.Integer))),
		Default: DefaultResult{Text: "stdout"},
	}, nil
}

type shellConnection struct{ Command []string }

func (c *shellConnection) spec() decode.Spec {
	return decode.Spec{decode.Attr(&c.Command, "command", "The words that a block's own follow.").Require()}
}

func (c *shellConnection) Words() []string { return c.Command }

type csvBlock struct {
	Directory *hclexpr.StringExpr
	File      *hclexpr.StringExpr
	Rows      *hclexpr.Expr
	IfExists  string
}

func (b *csvBlock) spec() decode.Spec {
	return decode.Spec{
		decode.Attr(&b.Directory, "directory", "The folder."),
		decode.Attr(&b.File, "file", "The name of the file.").Require(),
		decode.Attr(&b.Rows, "rows", "A list of objects.").Require(),
		decode.Attr(&b.IfExists, "if_exists", "What happens to a file that is there."),
	}
}

func (b *csvBlock) Describe(*Connection) (Effects, error) {
	return Effects{
		Writes:  true,
		Output:  schema.ObjectOf(out("path", is(schema.String)), out("count", is(schema.Integer))),
		Default: DefaultResult{Members: []string{"path", "count"}},
	}, nil
}

type fileBlock struct {
	Read, Write *hclexpr.StringExpr
	Content     *hclexpr.Expr
	As          string
}

func (b *fileBlock) spec() decode.Spec {
	return decode.Join(
		decode.ExactlyOneOf("what is done", decode.Attr(&b.Read, "read", "The file to read."), decode.Attr(&b.Write, "write", "The file to write.")),
		decode.Spec{
			decode.Attr(&b.Content, "content", "What is written.").AllowFile(),
			decode.Attr(&b.As, "as", "What the content is."),
		},
	)
}

func (b *fileBlock) Describe(*Connection) (Effects, error) {
	content := is(schema.String)
	def := DefaultResult{Members: []string{"path", "size"}, Document: "content"}
	if b.As == "bytes" {
		content, def = is(schema.Bytes), DefaultResult{Document: "content"}
	}
	media := ""
	if b.Read != nil {
		name, _ := b.Read.Known()
		media = mediapkg.TypeByExtension(name)
	}
	return Effects{
		ReadOnly: b.Read != nil, Writes: b.Write != nil, Idempotent: true, Default: def, MimeType: media,
		Output: schema.ObjectOf(out("content", content), out("path", is(schema.String)), out("size", is(schema.Integer))),
	}, nil
}
