package main

import (
	"strings"

	"hatchel/runtime"
	"hatchel/runtime/mcp"
)

// offer is what a server has for its clients.
type offer struct{ tools, prompts, resources int }

// offerOf counts what a toolset shows, "" being all there is.
func offerOf(g *runtime.Generation, toolset string) offer {
	count := func(of mcp.Listing) int { return g.Count(toolset, of) }
	return offer{count(mcp.Tools), count(mcp.Prompts), count(mcp.Resources) + count(mcp.Templates)}
}

func (o offer) empty() bool { return o == offer{} }

// String is as in "2 tools, 1 prompt".
func (o offer) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		noun string
	}{{o.tools, "tool"}, {o.prompts, "prompt"}, {o.resources, "resource"}} {
		if p.n > 0 {
			parts = append(parts, plural(p.n, p.noun))
		}
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// noToolset is the failure to find a toolset among those of a folder.
func noToolset(path, name string, host *runtime.Host) error {
	all := host.Current().Config.Toolsets
	if len(all) == 0 {
		return failf("%s declares no toolset", path)
	}
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.Name
	}
	return failf("%s declares no toolset %q. It declares %s", path, name, strings.Join(names, ", "))
}
