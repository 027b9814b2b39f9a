package console

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"hatchel/hcl"
	"hatchel/internal/toolsearch"
	"hatchel/runtime/edge/served"
)

const toolsPerPage = 100

// toolsData is the data of the list of tools.
type toolsData struct {
	Bar     *filterBar
	Tools   []toolRow
	Search  string // the toolset whose search has found them; empty for a list
	Problem string // why the search finds nothing; empty when it was made
	pager
}

// toolRow is a tool, with its score if a search has found it.
type toolRow struct {
	*hcl.Tool
	Score float64
}

// tools lists the tools, also those that are not listed for clients, by name.
func (c *Console) tools(q *request) (*answer, error) {
	g, err := c.admit(q)
	if err != nil {
		return nil, err
	}
	fields := []filterField{{Name: "q", Label: "Text", IsText: true, Hint: "name, description or file"}}
	if choices := searchedToolsets(g.Config); len(choices) > 1 {
		fields = append(fields, filterField{Name: "search", Label: "Search of the toolset", Choices: choices})
	}
	data := &toolsData{Bar: newFilterBar(q, fields...)}
	query := strings.TrimSpace(fields[0].Value)
	if len(fields) > 1 && query != "" && slices.ContainsFunc(fields[1].Choices[1:], fields[1].isChosen) {
		data.Search = fields[1].Value
	}
	var found []toolRow
	if data.Search != "" {
		found = data.find(q, g, query)
	} else {
		for _, t := range g.Config.Tools {
			if matchesTool(t, strings.ToLower(query)) {
				found = append(found, toolRow{Tool: t})
			}
		}
	}
	from, to := data.pager.turn(q, "page", len(found), toolsPerPage)
	data.Tools = found[from:to]
	return &answer{template: "tools", title: "Tools", data: data}, nil
}

// searchedToolsets returns the toolsets with search blocks as choices, after that of none.
func searchedToolsets(config *hcl.Config) []choice {
	choices := []choice{{"", "none"}}
	for _, set := range config.Toolsets {
		if set.Search != nil {
			choices = append(choices, choice{set.Name, set.Name})
		}
	}
	return choices
}

// find returns what the search of the toolset finds for the person, as a caller of it, best first.
func (d *toolsData) find(q *request, g *served.Served, query string) (found []toolRow) {
	if err := toolsearch.Check(query); err != nil {
		d.Problem = err.Error()
		return nil
	}
	caller := *q.caller
	caller.Toolset = d.Search
	for _, one := range g.Views.Of(d.Search).Search(q.Context(), &caller, query, hcl.MaxSearchResults) {
		if p, ok := g.Program(one.Name); ok {
			found = append(found, toolRow{p.Tool(), one.Score})
		}
	}
	return found
}

// matchesTool reports whether a query, in lower case, is in what a tool says of itself.
func matchesTool(t *hcl.Tool, query string) bool {
	for _, text := range []string{t.Name, t.Title, t.Description, t.Range.File} {
		if strings.Contains(strings.ToLower(text), query) {
			return true
		}
	}
	return false
}

// summaryOf returns the beginning of the description of a tool.
func summaryOf(t *hcl.Tool) string {
	summary, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
	return shorten(summary, 160)
}

func toolPath(name string) string { return "/console/tools/" + url.PathEscape(name) }

// callsOf returns the address of the list of calls of a tool in the last hour.
func callsOf(name string) string { return callsPath + "?since=1h&tool=" + url.QueryEscape(name) }

func positionOf(r hcl.Range) string { return r.File + ":" + strconv.Itoa(r.Start.Line) }

// badgesOf returns what a tool does, as a person wants to know before anything else.
func badgesOf(t *hcl.Tool) (out []condition) {
	switch {
	case t.ReadOnly:
		out = append(out, condition{"ok", "reads"})
	case t.Destructive:
		out = append(out, condition{"bad", "destructive"})
	default:
		out = append(out, condition{"warn", "writes"})
	}
	if len(t.Approvals) > 0 {
		out = append(out, condition{"warn", "asks for approval"})
	}
	if !t.Listed {
		out = append(out, condition{"off", "not listed"})
	}
	if t.Missing != "" {
		out = append(out, condition{"bad", "refused"})
	}
	return out
}
