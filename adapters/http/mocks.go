package http

import (
	"context"
	nethttp "net/http"

	"hatchel/adapters"
	"hatchel/hcl/schema"
)

// mockedTransport has the requests of a service answered by mocks.
type mockedTransport struct {
	service    *service
	connection string
}

// RoundTrip implements http.RoundTripper.
func (t *mockedTransport) RoundTrip(r *nethttp.Request) (*nethttp.Response, error) {
	details, _ := r.Context().Value(detailsKey{}).(adapters.RequestDetails)
	return t.service.mocks.RoundTrip(&adapters.HTTPRequest{
		Connection: t.connection, BaseURL: t.service.base, Request: r, RequestDetails: details,
		ReadOnly: isRead(r.Method) || details.Answer == tokenType, Send: t.service.transport.RoundTrip,
	})
}

// detailsKey is the key of the adapters.RequestDetails in the context of a request.
type detailsKey struct{}

// withDetails returns the context of a request with what mocks need to know of it.
func (s *service) withDetails(ctx context.Context, response *schema.Type, secrets []string) context.Context {
	return context.WithValue(ctx, detailsKey{}, adapters.RequestDetails{Secrets: secrets, Answer: response})
}

// jsonType returns the type of the response as JSON, or nil if it is not read as JSON.
func (a *action) jsonType() *schema.Type {
	if a.block.As != asJSON || a.method == nethttp.MethodHead {
		return nil
	}
	return a.block.bodyType(a.method)
}

// tokenType is the type of the response to a token request.
var tokenType = schema.ObjectOf(&schema.Member{Name: "access_token", Type: &schema.Type{Kind: schema.String}})
