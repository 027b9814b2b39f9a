package call

import (
	"log/slog"
	"slices"

	"hatchel/hcl"
	"hatchel/runtime/stage/mask"
)

// operationMasks are the masks of the outputs of an operation.
type operationMasks struct {
	all  []*hcl.Mask
	root map[string]any // what their rules read as `tool`
}

// SetMasks completes the operation by the masks of its backends. Root is what rules read as `tool` about it.
func (o *Operation) SetMasks(root map[string]any) {
	for _, s := range o.Decl.Steps {
		for _, m := range s.Backend.Masks {
			if !slices.Contains(o.masks.all, m) {
				o.masks.all = append(o.masks.all, m)
			}
		}
	}
	o.masks.root = root
}

// liftMasks decides which masks do not apply to the caller.
func (c *engine) liftMasks() {
	o := c.operation
	if len(o.masks.all) == 0 {
		return
	}
	before := c.frame.Tool
	c.frame.Tool = o.masks.root
	c.frame.Lifted = mask.Decide(o.masks.all, c.frame, func(m *hcl.Mask, err error) {
		o.Env.LogFailure(c.frame.Context, slog.LevelError, "mask not lifted: its rule cannot be evaluated", err,
			"mask", m.Name, o.Kind, o.Decl.Name)
	})
	c.frame.Tool = before
}

// mask returns an output of the backend as the caller of the frame may see it.
func (s *Step) mask(f *hcl.Frame, output any) (any, error) {
	if len(s.Decl.Backend.Masks) == 0 {
		return output, nil
	}
	return mask.Output(s.Decl.Backend, f.Lifted, output)
}
