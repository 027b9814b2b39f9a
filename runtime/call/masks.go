package call

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"hatchel/adapters"
	"hatchel/adapters/scrub"
	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/internal/detect"
	"hatchel/internal/logonce"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/mask"
	"hatchel/runtime/stage/result"
	"hatchel/runtime/stage/task"
)

// operationMasks are the masks of the outputs of an operation.
type operationMasks struct {
	all  []*hcl.Mask    // of the outputs of its backends, and the detectors
	root map[string]any // what their rules read as `tool`

	reveals  bool            // a step sends what masks hide
	problems logonce.Changes // of their rules, by name
}

// SetMasks completes the operation by the masks of its backends. Root is what rules read as `tool` about it.
func (o *Operation) SetMasks(root map[string]any) {
	for _, s := range o.Decl.Steps {
		o.masks.reveals = o.masks.reveals || s.Reveals
		for _, m := range s.Backend.Masks {
			if !slices.Contains(o.masks.all, m.Mask) {
				o.masks.all = append(o.masks.all, m.Mask)
			}
		}
	}
	o.masks.root = root
	o.masks.all = o.addDetectors(o.masks.all)
}

// SetMasks completes the tool by its masks; see Operation.SetMasks.
func (p *Program) SetMasks(root map[string]any) {
	p.Operation.SetMasks(root)
	p.Shaper.Detect(p.masks.all)
}

// addDetectors adds the detectors of the operation and of the tools that its steps call.
func (o *Operation) addDetectors(masks []*hcl.Mask) []*hcl.Mask {
	for _, m := range o.Decl.Detectors {
		if !slices.Contains(masks, m) {
			masks = append(masks, m)
		}
	}
	for _, p := range o.CallsTools() {
		masks = p.addDetectors(masks)
	}
	return masks
}

// liftMasks decides which masks do not apply to the caller.
func (c *engine) liftMasks() {
	o := c.operation
	if o.masks.reveals {
		c.frame.Revealed = new(eval.Revealed)
	}
	c.frame.Lifted = o.liftedFor(c.frame)
	kinds := detect.Kinds(0)
	for _, m := range o.masks.all {
		if !slices.Contains(c.frame.Lifted, m.Mask) {
			kinds |= m.Detect
		}
	}
	c.frame.Detect = eval.NewDetector(kinds)
}

// liftedFor returns the masks of the operation that do not apply to the caller of a frame.
func (o *Operation) liftedFor(f *hcl.Frame) []*eval.Mask {
	if len(o.masks.all) == 0 {
		return nil
	}
	before := f.Tool
	f.Tool = o.masks.root
	defer func() { f.Tool = before }()
	return mask.Decide(o.masks.all, f, func(m *hcl.Mask, err error) {
		if o.masks.problems.Set(m.Name, err.Error()) {
			o.Env.LogFailure(f.Context, slog.LevelError, "mask not lifted: its rule cannot be evaluated", err,
				"mask", m.Name, o.Kind, o.Decl.Name)
		}
	})
}

// addLifted adds the names of the masks that do not apply to the caller of a frame, of the operation and of the tools
// that its steps call.
func (o *Operation) addLifted(names []string, f *hcl.Frame) []string {
	for _, m := range o.liftedFor(f) {
		if !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	for _, p := range o.CallsTools() {
		names = p.addLifted(names, f)
	}
	return names
}

// hiddenSince returns a mask that applies to the caller now, of those that did not when something was stored; empty
// for none.
func (c *engine) hiddenSince(stored []string) string {
	if len(stored) == 0 {
		return ""
	}
	lifted := c.operation.addLifted(nil, c.frame)
	for _, name := range stored {
		if !slices.Contains(lifted, name) {
			return name
		}
	}
	return ""
}

// hiddenResult is what a caller gets in place of a stored result that they may not see any more; %q is the mask.
const hiddenResult = "The call was carried out. Its result is not shown again, because you may no longer see what " +
	"the mask %q hides."

// ShownTask returns a completed task as its caller may see it now: without a result that was made for one who saw more.
func (p *Program) ShownTask(ctx context.Context, t *task.Task, caller *mcp.Caller) *task.Task {
	c := p.newCallOf(ctx, caller, adapters.NopClient{})
	defer c.result.Release()
	c.program = p
	name := c.hiddenSince(t.Lifted)
	if name == "" {
		return t
	}
	shown := *t
	failed := c.failed(failure.Refusal(fmt.Sprintf(hiddenResult, name)))
	out := c.outcome(failed, mcp.Revision20260728)
	shown.Result = out.AppendResult(nil, mcp.Revision20260728)
	return &shown
}

// recordedMasks returns what became of the masks of the operation in a call; nil for none.
func (o *Operation) recordedMasks(f *hcl.Frame) map[string]string {
	if len(o.masks.all) == 0 {
		return nil
	}
	masks := make(map[string]string, len(o.masks.all))
	for _, m := range o.masks.all {
		masks[m.Name] = audit.MaskApplied
		if slices.Contains(f.Lifted, m.Mask) {
			masks[m.Name] = audit.MaskLifted
		}
	}
	return masks
}

// mask returns an output of the backend as the caller may see it.
func (s *Step) mask(call *adapters.Call, output any) (any, error) {
	if s.Decl.KeepsRaw {
		call.Raw = output
	}
	masked, err := output, error(nil)
	if shown := call.Shown; shown != nil {
		masked, call.Shown = shown, nil
	} else if len(s.Decl.Backend.Masks) > 0 {
		masked, err = mask.Output(s.Decl.Backend, call.Frame, output)
	}
	if texts := call.Frame.Revealed.Texts(); texts != nil && err == nil { // a service may answer with what it was sent
		masked, err = mask.Texts(masked, scrub.New(texts))
	}
	return masked, err
}

// maskPages lets the backend mask the pages of which its own expressions make the output.
func (s *Step) maskPages(call *adapters.Call) {
	call.MaskPage = nil
	if s.hidesFrom(call.Frame) {
		call.MaskPage = func(page map[string]any) (map[string]any, error) {
			masked, err := mask.Output(s.Decl.Backend, call.Frame, page)
			if err != nil {
				return nil, err
			}
			return masked.(map[string]any), nil
		}
	}
}

// maskFailure returns the failure of the backend as the caller may see it; see mask.Message and adapters.Unquoted.
func (s *Step) maskFailure(f *hcl.Frame, err error) error {
	fault, ok := errors.AsType[*adapters.Fault](err)
	if !ok || !s.hidesFrom(f) {
		return err
	}
	masked := *fault
	if plain := fault.Unquoted; plain != nil {
		masked.Message, masked.Hint, masked.Cause = plain.Message, "", errors.New(plain.Cause)
		return &masked
	}
	masked.Message = mask.Message(s.Decl.Backend, f, fault.Message)
	if cause := fault.Cause; cause != nil {
		if text := mask.Message(s.Decl.Backend, f, cause.Error()); text != cause.Error() {
			masked.Cause = errors.New(text)
		}
	}
	if masked.Message == fault.Message && masked.Cause == fault.Cause {
		return err
	}
	return &masked
}

// hideRevealed returns a text without what backends were sent and masks hide from the caller.
func hideRevealed(f *hcl.Frame, text string) string {
	if texts := f.Revealed.Texts(); texts != nil {
		return scrub.New(texts).Text(text)
	}
	return text
}

// hidesFrom reports whether a mask of the output applies to the caller of the frame.
func (s *Step) hidesFrom(f *hcl.Frame) bool {
	return slices.ContainsFunc(s.Decl.Backend.Masks, func(m hcl.AppliedMask) bool {
		return !slices.Contains(f.Lifted, m.Mask.Mask)
	})
}

// keepRaw keeps the output of the step without masks, if a later step sends it.
func (s *Step) keepRaw(f *hcl.Frame, raw any) {
	if !s.Decl.KeepsRaw {
		return
	}
	if f.Raw == nil {
		f.Raw = map[string]any{}
	}
	f.Raw[s.Decl.Name] = raw
}

// revealElements adds to the elements of each what masks hide of them.
func (s *Step) revealElements(f *hcl.Frame, elements []hcl.Each) error {
	if !s.Decl.RevealsEach {
		return nil
	}
	raw := *f
	raw.Steps = maps.Clone(f.Steps)
	maps.Copy(raw.Steps, f.Raw)
	revealed, _, err := result.EvalElements(s.Decl.Each, &raw)
	f.Functions.Memory = raw.Functions.Memory
	if err != nil {
		return err
	}
	if len(revealed) != len(elements) {
		return &adapters.Fault{Message: fmt.Sprintf("each of the step %q has other elements without masks",
			s.Decl.Name)}
	}
	for i := range elements {
		elements[i].Raw = revealed[i].Value
	}
	return nil
}

// maskedTrace returns the trace of a step whose output is masked for the caller, or which sends what is: it tells what
// happens, and nothing of what is sent and received.
func (s *Step) maskedTrace(f *hcl.Frame, trace adapters.Trace) adapters.Trace {
	if !s.hidesFrom(f) && !s.Decl.Reveals {
		return trace
	}
	return func(event, text string) {
		if text != "" {
			text = eval.MaskedText
		}
		trace(event, text)
	}
}
