package subscribe

import (
	"strconv"
	"testing"

	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
)

// noResources is a server without resources.
type noResources struct{}

func (noResources) Resource(string) (*call.Resource, map[string]string, func(), error) {
	return nil, nil, func() {}, nil
}
func (noResources) NotifyUpdated(string, func(*mcp.Caller) bool) {}
func (noResources) LogReadFailure(string, error)                 {}

func TestCallerWithManySubscriptionsIsRetainedOnce(t *testing.T) {
	r := New(t.Context(), noResources{})
	defer r.Close()
	for i := range 300 {
		caller := &mcp.Caller{ClientInfo: []byte(`{"name":"` + strconv.Itoa(i/100) + `"}`)}
		if err := r.Subscribe(t.Context(), caller, "doc://"+strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	callers := map[*mcp.Caller]bool{}
	for _, s := range r.byURI {
		for _, one := range s.subscribers {
			callers[one.caller] = true
		}
	}
	if len(callers) != 3 {
		t.Errorf("3 callers with 100 subscriptions each are retained as %d", len(callers))
	}
}
