package http

import (
	"context"
	nethttp "net/http"

	"hatchel/adapters"
)

// mockedTransport has the requests of a service answered by mocks.
type mockedTransport struct {
	service    *service
	connection string
}

// RoundTrip implements http.RoundTripper.
func (t *mockedTransport) RoundTrip(r *nethttp.Request) (*nethttp.Response, error) {
	secrets, _ := r.Context().Value(secretsKey{}).([]string)
	return t.service.mocks.RoundTrip(&adapters.HTTPRequest{
		Connection: t.connection, BaseURL: t.service.base, Request: r, Secrets: secrets,
	})
}

// secretsKey is the key of the texts in a request that mocks must not show.
type secretsKey struct{}

// withSecrets returns the context of a request with its secrets, which only mocks need.
func (s *service) withSecrets(ctx context.Context, secrets ...string) context.Context {
	if s.mocks == nil {
		return ctx
	}
	return context.WithValue(ctx, secretsKey{}, secrets)
}
