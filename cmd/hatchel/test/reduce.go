package test

import (
	"hatchel/hcl"
)

// reduce returns the configuration with nothing but what a test reaches.
func reduce(cfg *hcl.Config, c *Case) *hcl.Config {
	out := *cfg
	out.Audit, out.State, out.TLS, out.Auth, out.Approvals = nil, nil, nil, nil, nil
	out.Webhooks, out.Toolsets, out.Tests, out.Sources = nil, nil, nil, nil
	out.Tools, out.Prompts, out.Resources, out.Skills, out.Connections = nil, nil, nil, nil, nil
	r := &reduction{config: &out, tools: map[*hcl.Tool]bool{}, connections: map[*hcl.Connection]bool{}}
	switch c.Kind {
	case "tool":
		r.addTool(c.Tool)
	case "prompt":
		for _, p := range cfg.Prompts {
			if p.Name == c.Target {
				out.Prompts = append(out.Prompts, p)
				r.add(&p.Operation)
			}
		}
	case "resource":
		for _, doc := range cfg.Resources {
			if doc.URI == c.Target || doc.Template != nil {
				out.Resources = append(out.Resources, doc)
				r.add(&doc.Operation)
			}
		}
		for _, s := range cfg.Skills {
			if _, ok := s.PathOf(c.Target); ok {
				out.Skills = append(out.Skills, s)
			}
		}
	}
	for _, t := range cfg.Tools {
		if r.tools[t] {
			out.Tools = append(out.Tools, t)
		}
	}
	for _, conn := range cfg.Connections {
		if r.connections[conn] {
			out.Connections = append(out.Connections, conn)
		}
	}
	return &out
}

// reduction collects what operations reach.
type reduction struct {
	config      *hcl.Config
	tools       map[*hcl.Tool]bool
	connections map[*hcl.Connection]bool
}

func (r *reduction) addTool(t *hcl.Tool) {
	if !r.tools[t] {
		r.tools[t] = true
		r.add(&t.Operation)
	}
}

func (r *reduction) add(op *hcl.Operation) {
	for _, s := range op.Steps {
		if s.Backend.Connection != nil {
			r.connections[s.Backend.Connection] = true
		}
		if call, ok := s.Backend.Config.(*hcl.ToolCall); ok && call.Tool != nil {
			r.addTool(call.Tool)
		}
	}
	for _, completion := range op.Completions {
		r.add(&completion.Operation)
	}
	for _, before := range op.Before {
		r.add(&before.Operation)
	}
}
