package lint

import (
	"fmt"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/internal/hostname"
)

// checkUpstreams checks the connections to other MCP servers, and the tools that call them.
func (c *checker) checkUpstreams() {
	used := map[*hcl.Connection]map[string]bool{}
	for _, op := range c.operations() {
		eachStep(op, func(_ string, step *hcl.Step) {
			user, ok := step.Backend.Config.(hcl.PinUser)
			if conn := step.Backend.Connection; ok && conn != nil {
				if used[conn] == nil {
					used[conn] = map[string]bool{}
				}
				used[conn][user.PinnedTool()] = true
			}
		})
	}
	pins := map[*hcl.Connection]map[string]hcl.Pin{}
	for _, conn := range c.config.Connections {
		pinner, ok := conn.Config.(hcl.Pinner)
		if !ok {
			continue
		}
		pins[conn] = map[string]hcl.Pin{}
		var unused []string
		for _, pin := range pinner.Pins() {
			if pins[conn][pin.Tool] = pin; !used[conn][pin.Tool] {
				unused = append(unused, pin.Tool)
			}
		}
		c.checkUnusedPins(conn, unused)
		if u, authenticates := pinner.Endpoint(); u != nil && authenticates && hostname.IsReadable(u) {
			c.report("upstream", diag.Warning, conn.Range, "Readable credentials", fmt.Sprintf(
				"The credentials of each call are sent to %s over http, which does not encrypt them. Use https.",
				u.Host))
		}
	}
	for _, t := range c.config.Tools {
		c.checkUpstreamTool(t, pins)
	}
}

// operations returns the operations of the configuration.
func (c *checker) operations() (all []*hcl.Operation) {
	for _, t := range c.config.Tools {
		all = append(all, &t.Operation)
	}
	for _, p := range c.config.Prompts {
		all = append(all, &p.Operation)
	}
	for _, r := range c.config.Resources {
		all = append(all, &r.Operation)
	}
	return all
}

const maxNamedPins = 5

// checkUnusedPins reports the definitions of a file that no block uses: they are reviewed for nothing.
func (c *checker) checkUnusedPins(conn *hcl.Connection, unused []string) {
	if len(unused) == 0 {
		return
	}
	names := strings.Join(unused[:min(len(unused), maxNamedPins)], ", ")
	if more := len(unused) - maxNamedPins; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	c.report("upstream", diag.Warning, conn.Range, "Unused pin", fmt.Sprintf(
		"The file of definitions has tools that no block calls: %s. Import them, or remove them with hatchel import "+
			"mcp %s --update.", names, conn.Name))
}

// checkUpstreamTool reports what nobody has decided about a tool that is one call of another server.
func (c *checker) checkUpstreamTool(t *hcl.Tool, pins map[*hcl.Connection]map[string]hcl.Pin) {
	if len(t.Steps) != 1 {
		return
	}
	backend := t.Steps[0].Backend
	user, ok := backend.Config.(hcl.PinUser)
	if !ok {
		return
	}
	pin, ok := pins[backend.Connection][user.PinnedTool()]
	if !ok {
		return
	}
	if pin.Description != "" && strings.TrimSpace(pin.Description) == strings.TrimSpace(t.Description) {
		c.report("upstream", diag.Warning, t.Range, "Description of the server", fmt.Sprintf(
			"The description is that of %s at %s. Say in your words what the tool does here, and when to use it.",
			pin.Tool, backend.Connection.Name))
	}
	if pin.ReadOnly && !t.ReadOnly {
		c.report("upstream", diag.Warning, t.Range, "Unconfirmed hint", fmt.Sprintf(
			"%s says that %s changes nothing, and the tool does not. If that is true, write read_only = true, so that "+
				"clients and policies know it.", backend.Connection.Name, pin.Tool))
	}
}
