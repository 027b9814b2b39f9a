package adaptertest

import (
	"context"
	"fmt"
	"time"

	"hatchel/hcl/mock"
)

// Mocks implements adapters.Mocks with functions. A question whose function is nil panics. It is not live.
type Mocks struct {
	Mocks     []*mock.Mock                                                           // of the test
	Reply     func(context.Context, *mock.Question) (args map[string]any, err error) // nil for the answer of a stand-in
	Directory func(path string) (string, error)
	Asked     []*mock.Question
	Failed    []string // why a mock cannot answer
}

// Live implements adapters.Mocks.
func (m *Mocks) Live(bool) bool { return false }

// Ask implements adapters.Mocks.
func (m *Mocks) Ask(ctx context.Context, q *mock.Question) (*mock.Reply, error) {
	m.Asked = append(m.Asked, q)
	if q.StandIn != nil {
		return nil, nil
	}
	args, err := m.Reply(ctx, q)
	if err != nil {
		return nil, err
	}
	return &mock.Reply{Mock: &mock.Mock{}, Args: args}, nil
}

// Of implements adapters.Mocks.
func (m *Mocks) Of(string, string) []*mock.Mock { return m.Mocks }

// Use implements adapters.Mocks.
func (m *Mocks) Use(*mock.Mock, func(context.Context, map[string]any) ([]map[string]any, error)) {}

// Timeout implements adapters.Mocks.
func (m *Mocks) Timeout() time.Duration { return time.Minute }

// Set implements adapters.Mocks.
func (m *Mocks) Set(q *mock.Question, member string, v any) { q.Sent[member] = v }

// Fail implements adapters.Mocks.
func (m *Mocks) Fail(_ *mock.Mock, detail string) error {
	m.Failed = append(m.Failed, detail)
	return fmt.Errorf("the mock of the test is not valid: %s", detail)
}

// IsRecording implements adapters.Mocks.
func (m *Mocks) IsRecording() bool { return false }

// Record implements adapters.Mocks.
func (m *Mocks) Record(*mock.Question, map[string]any) {}

// FailRecording implements adapters.Mocks.
func (m *Mocks) FailRecording([]string, string, ...any) {}

// ReadFile implements adapters.Mocks.
func (m *Mocks) ReadFile(name string, _ int64) ([]byte, error) {
	return nil, fmt.Errorf("there is no file %s", name)
}

// CopyDirectory implements adapters.Mocks.
func (m *Mocks) CopyDirectory(path string) (string, error) { return m.Directory(path) }
