package legacy

import (
	"hatchel/runtime/edge/mcp"

	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// askingHandler runs a function for each call.
type askingHandler struct {
	mcp.Handler
	call func(ctx context.Context, r *mcp.CallRequest)
}

func (h askingHandler) Info(string) *mcp.Info {
	return mcp.NewInfo(mcp.ServerInfo{Name: "n", Version: "1"})
}

func (h askingHandler) CallTool(ctx context.Context, r *mcp.CallRequest) (mcp.Outcome, error) {
	h.call(ctx, r)
	return mcp.Outcome{}, nil
}

// lines are what a client receives. The function onQuestion is called for each question.
type lines struct {
	onQuestion func()
	methods    []string
}

func (l *lines) Write(b []byte) (int, error) {
	for line := range strings.Lines(string(b)) {
		if _, method, ok := strings.Cut(line, `"method":"`); ok {
			method, _, _ = strings.Cut(method, `"`)
			l.methods = append(l.methods, method)
		}
		if strings.Contains(line, "elicitation/create") {
			l.onQuestion()
		}
	}
	return len(b), nil
}

// A client that has ended its session may no longer read its stream, and a cancellation would have
// to wait.
func TestCancelledQuestionIsWithdrawnUnlessTheSessionHasEnded(t *testing.T) {
	errTimeout := errors.New("the time to answer is over")
	for _, c := range []struct {
		name     string
		cause    error
		received string
	}{
		{"timeout", errTimeout, "elicitation/create notifications/cancelled"},
		{"end of the session", errSessionEnded, "elicitation/create"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var received lines
			asked := make(chan struct{})
			handler := askingHandler{call: func(ctx context.Context, r *mcp.CallRequest) {
				defer close(asked)
				ctx, cancel := context.WithCancelCause(ctx)
				received.onQuestion = func() { cancel(c.cause) }
				answer, err := r.Ask(ctx, mcp.Question{Key: "who", Method: "elicitation/create"})
				if answer != nil || !errors.Is(err, c.cause) {
					t.Errorf("got %s, %v", answer, err)
				}
			}}
			in, client := io.Pipe()
			go func() {
				io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`+"\n")
				io.WriteString(client, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}`+"\n")
				<-asked
				client.Close()
			}()
			server := mcp.New(handler, mcp.Options{Legacy: New(Options{})})
			if err := server.For("").Serve(t.Context(), in, &received); err != nil {
				t.Error(err)
			}
			if got := strings.Join(received.methods, " "); got != c.received {
				t.Errorf("the client received %s", got)
			}
		})
	}
}
