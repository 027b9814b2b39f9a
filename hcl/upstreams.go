package hcl

import "slices"

// Upstreams returns the names of the connections to other MCP servers that the steps of an operation call, with those
// of the tools that it calls, sorted. The Operation is one of a Config without errors.
func (op *Operation) Upstreams() []string {
	names := []string{}
	for _, s := range op.Steps {
		if call, ok := s.Backend.Config.(*ToolCall); ok && call.Tool != nil {
			names = append(names, call.Tool.Upstreams()...)
		} else if s.Backend.Effects.Upstream != "" {
			names = append(names, s.Backend.Effects.Upstream)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
