package console

import (
	"net/url"
	"strconv"
	"strings"

	"hatchel/hcl"
)

const toolsPerPage = 100

// toolsData is the data of the list of tools.
type toolsData struct {
	Bar   *filterBar
	Tools []*hcl.Tool
	pager
}

// tools lists the tools, also those that are not listed for clients, by name.
func (c *Console) tools(q *request) (*answer, error) {
	g, err := c.admit(q)
	if err != nil {
		return nil, err
	}
	data := &toolsData{Bar: newFilterBar(q, filterField{
		Name: "q", Label: "Text", IsText: true, Hint: "name, description or file",
	})}
	query := strings.ToLower(strings.TrimSpace(data.Bar.Fields[0].Value))
	var found []*hcl.Tool
	for _, t := range g.Config.Tools {
		if matchesTool(t, query) {
			found = append(found, t)
		}
	}
	from, to := data.pager.turn(q, "page", len(found), toolsPerPage)
	data.Tools = found[from:to]
	return &answer{template: "tools", title: "Tools", data: data}, nil
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
