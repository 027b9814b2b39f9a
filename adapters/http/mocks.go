package http

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	nethttp "net/http"
	"os"
	"slices"
	"strings"

	"hatchel/hcl/mock"
	"hatchel/hcl/schema"
	"hatchel/internal/neterror"
)

// mockedTransport has the requests of a service answered by mocks.
type mockedTransport struct {
	service    *service
	connection string
}

// RoundTrip implements http.RoundTripper. It does not follow redirects.
func (t *mockedTransport) RoundTrip(request *nethttp.Request) (*nethttp.Response, error) {
	r, err := t.readRequest(request)
	if err != nil {
		return nil, err
	}
	target := r.address
	if r.path != "" {
		target = r.path
	}
	q := &mock.Question{
		Kind: "http", Connection: t.connection, Name: r.Method + " " + target, Sent: r.sent(), Secrets: r.secrets,
		ReadOnly: isRead(r.Method) || r.answer == tokenType, Match: r.match, Taped: r.taped, Suggest: r.suggest,
		Raw: r.Request,
	}
	reply, err := t.service.mocks.Ask(r.Context(), q)
	switch {
	case err != nil:
		return nil, err
	case reply == nil:
		return t.send(r, q)
	}
	if err := failures[reply.Text("fail")]; err != nil {
		return nil, err
	}
	return t.response(r, reply)
}

// failures are the errors of requests by the values of fail.
var failures = map[string]error{
	"refused": &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", neterror.ECONNREFUSED)},
	"reset":   &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", neterror.ECONNRESET)},
	"timeout": context.DeadlineExceeded,
}

// mockedDetails are what mocks need to know of a request besides the request.
type mockedDetails struct {
	secrets []string     // texts in the request that must not be shown
	answer  *schema.Type // of the body of the response; nil if it is not read as JSON
	lines   bool         // the body has one JSON value of a list in each line
}

// detailsKey is the key of the mockedDetails in the context of a request.
type detailsKey struct{}

// withDetails returns the context of a request with what mocks need to know of it.
func withDetails(ctx context.Context, details mockedDetails) context.Context {
	return context.WithValue(ctx, detailsKey{}, details)
}

// jsonType returns the type of the response as JSON, or nil if it is not read as JSON.
func (a *action) jsonType() *schema.Type {
	if a.block.As != asJSON && a.block.As != asJSONLines || a.method == nethttp.MethodHead {
		return nil
	}
	return a.block.bodyType(a.method)
}

// tokenType is the type of the response to a token request.
var tokenType = schema.ObjectOf(&schema.Member{Name: "access_token", Type: &schema.Type{Kind: schema.String}})

// mockKind is what tests write in place of a service.
func mockKind() *mock.Kind {
	k := &mock.Kind{
		Doc: "In a test: a request, and the responses to it. Without a label it has a whole URL, and answers " +
			"requests of every connection, and of blocks without connection.",
		Choice: "the request",
		Details: []mock.Argument{
			{Name: "query", Doc: "A part of the query.", Type: mock.Map},
			{Name: "headers", Doc: "Some of the headers.", Type: mock.Names},
			{Name: "json", Doc: "A part of the JSON body.", Type: mock.Any},
			{Name: "form", Doc: "A part of the form.", Type: mock.Map},
			{Name: "body", Doc: "The whole body, as text.", Type: mock.Text, Lines: true},
		},
		Answers: []mock.Argument{
			{Name: "json", Doc: "The body, as JSON.", Type: mock.Any, Member: "body", Declared: "response"},
			{Name: "text", Doc: "The body, as text.", Type: mock.Text, Lines: true},
			{Name: "file", Doc: "A file with the body, relative to the configuration directory.", Type: mock.Text,
				Check: checkFile},
			{Name: "fail", Doc: "How the request fails: \"refused\", \"timeout\" or \"reset\".", Type: mock.Text,
				Check: checkFail},
		},
		Besides: []mock.Argument{
			mock.Between("status", "The status, by default 200.", 200, 599),
			{Name: "headers", Doc: "The headers.", Type: mock.Names},
			mock.Delay("How long the answer takes."),
		},
		Check:    checkAddress,
		Anywhere: func(text string) bool { return !strings.HasPrefix(text, "/") },
		Effect: func(request map[string]any) (verb, source string) {
			method, address := written(request)
			address, _, _ = strings.Cut(address, "*")
			return method, address
		},
		Fails: func(reply map[string]any) bool {
			status, ok := reply["status"].(int)
			return ok && status >= 300
		},
		Taped: mock.Taped(map[string]*schema.Type{
			"status": mock.Integer, "fail": mock.Text, "headers": mock.Names, "json": mock.Any.AsNullable(),
			"text": mock.Text, "base64": mock.Text,
		}),
		CheckTaped: checkTaped,
		Naming:     []string{"method", "path", "url"},
	}
	for _, method := range methods {
		doc := "The path of a " + method + "."
		if method == nethttp.MethodGet {
			doc = "The path of a GET, below the base_url of the connection, or a whole URL, which a mock without " +
				"connection has. * stands for one segment of the path, and ** for any number."
		}
		k.Request = append(k.Request, mock.Argument{Name: strings.ToLower(method), Doc: doc, Type: mock.Text})
	}
	return k
}

func checkFile(v any) string {
	if name, _ := v.(string); name != "." && fs.ValidPath(name) {
		return ""
	}
	return fmt.Sprintf("file is a file in the configuration directory, such as \"order.json\", not %q.", v)
}

func checkFail(v any) string {
	names := []string{"refused", "timeout", "reset"}
	if name, _ := v.(string); slices.Contains(names, name) {
		return ""
	}
	return fmt.Sprintf("fail must be one of %s, and is %q.", strings.Join(names, ", "), v)
}

// checkAddress reports a path in a mock without a connection.
func checkAddress(m *mock.Mock) []mock.Problem {
	method, address := written(m.Request)
	if method == "" || m.Connection != "" || isURL(address) {
		return nil
	}
	return []mock.Problem{{Argument: strings.ToLower(method), Summary: "Path without a connection", Detail: fmt.Sprintf(
		"A mock without a connection has a whole URL, such as \"https://login.example/token\", not %q. A path belongs "+
			"to a connection: `mock \"http\" \"shop\" {`.", address)}}
}

func checkTaped(reply map[string]any) error {
	fail, failed := reply["fail"].(string)
	if failed == (reply["status"] != nil) || failed && failures[fail] == nil {
		return fmt.Errorf("response has a status, or fail, which is refused, reset or timeout")
	}
	if status, ok := reply["status"].(int); ok && (status < 200 || status > 599) {
		return fmt.Errorf("response.status is %d, and is a number from 200 to 599", status)
	}
	return nil
}
