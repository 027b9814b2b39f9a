package console

import (
	"strings"

	"hatchel/adapters"
	"hatchel/runtime/observe/probe"
)

// upstreamView is an MCP server on the page of the state.
type upstreamView struct {
	probe.UpstreamHealth
	Differences []driftView
}

// driftView is a definition that is not as reviewed. Nothing on the page accepts it: that is a commit.
type driftView struct {
	probe.DriftedDefinition
	Whole bool       // both definitions are shown
	Diff  []diffLine // from the reviewed definition to that of the server; nil if the server does not list it
}

// maxDefinitions is how many definitions of a server are shown whole.
const maxDefinitions = 20

func newUpstreamView(u probe.UpstreamHealth) upstreamView {
	view := upstreamView{UpstreamHealth: u}
	for i, d := range u.Drift {
		shown := driftView{DriftedDefinition: d, Whole: i < maxDefinitions}
		if shown.Whole && d.Drift.Found != "" {
			shown.Diff = diffLines(d.Drift.Pinned, d.Drift.Found)
		}
		view.Differences = append(view.Differences, shown)
	}
	return view
}

// Review returns the command that shows what differs.
func (u upstreamView) Review() string {
	_, name, _ := strings.Cut(u.Connection, ".")
	return adapters.ReviewCommand(name)
}

// Condition says what becomes of calls of the tool.
func (d driftView) Condition() condition {
	if d.Served {
		return condition{"warn", "served"}
	}
	return condition{"bad", "withdrawn"}
}
