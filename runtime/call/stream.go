package call

import (
	"context"

	"hatchel/adapters"
	"hatchel/runtime/stage/mask"
)

// rowStream is the rows of a step that the next step reads as they arrive.
type rowStream struct {
	step *Step
	call adapters.Call
}

// publishStream makes the rows of the step readable without reading them, and returns its output.
func (s *Step) publishStream(call *adapters.Call) map[string]any {
	stream := &rowStream{s, *call}
	stream.call.Trace = s.labelTrace(call)
	output := map[string]any{"rows": stream}
	call.Frame.Steps[s.Decl.Name] = output
	return output
}

// Read implements adapters.RowStream.
func (r *rowStream) Read(ctx context.Context, reader adapters.RowReader) error {
	outer := r.step.startSpan(&r.call)
	if masks := r.step.Decl.Backend.Masks; len(masks) > 0 {
		reader = mask.Rows(r.step.Decl.Backend, r.call.Frame, reader)
	}
	_, err := r.step.guards.Do(ctx, &streamAction{r.step.Action.(adapters.Streamer), reader}, &r.call)
	r.step.endSpan(&r.call, outer, err)
	return r.step.maskFailure(r.call.Frame, err)
}

// AppendJSON implements value.LazyJSON. The rows are kept nowhere.
func (r *rowStream) AppendJSON(dst []byte) []byte { return append(dst, "null"...) }

// Value implements value.LazyJSON.
func (r *rowStream) Value() (any, error) { return nil, nil }

// streamAction is a query as an action, for the guard of its connection.
type streamAction struct {
	streamer adapters.Streamer
	reader   adapters.RowReader
}

// ChooseInstance implements adapters.InstanceChooser.
func (a *streamAction) ChooseInstance(call *adapters.Call) (string, error) {
	if chooser, ok := a.streamer.(adapters.InstanceChooser); ok {
		return chooser.ChooseInstance(call)
	}
	return "", nil
}

// Do implements adapters.Action.
func (a *streamAction) Do(ctx context.Context, call *adapters.Call) (any, error) {
	return nil, a.streamer.Stream(ctx, call, a.reader)
}
