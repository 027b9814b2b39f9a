package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
)

const policiesPath = "/console/policies"

// policiesData is the data of the page that explains the rules.
type policiesData struct {
	Tools     []string
	Tool      string
	Arguments string
	As        bool // the person may name another caller
	Subject   string
	Groups    string
	Claims    string
	Problem   string // why nothing is explained
	Explained *call.Explanation
	Command   string // that says the same
}

// policies explains what the rules decide about a call, which is not made.
func (c *Console) policies(q *request) (*answer, error) {
	caller := q.caller
	g, err := c.admit(q)
	if err != nil {
		return nil, err
	}
	values := q.URL.Query()
	data := &policiesData{
		Tool: values.Get("tool"), Arguments: strings.TrimSpace(values.Get("arguments")), Subject: values.Get("subject"),
		Groups: values.Get("groups"), Claims: strings.TrimSpace(values.Get("claims")), As: permitOperator(c, q) == "",
	}
	for _, t := range g.Config.Tools {
		data.Tools = append(data.Tools, t.Name)
	}
	out := &answer{template: "policies", title: "Policies", data: data}
	if data.Tool == "" {
		return out, nil
	}
	if data.namesAnother() {
		if !data.As {
			return nil, &Error{http.StatusForbidden, "Only callers in the group admin may ask what others may do"}
		}
		if caller, err = data.caller(); err != nil {
			data.Problem, out.status = err.Error(), http.StatusUnprocessableEntity
			return out, nil
		}
	}
	req := &mcp.CallRequest{Name: data.Tool, Caller: caller, Arguments: []byte(data.Arguments)}
	if data.Arguments == "" {
		req.Arguments = []byte("{}")
	}
	e, err := g.Explain(q.Context(), "tool", req)
	var unknown *mcp.Error
	switch {
	case errors.As(err, &unknown):
		data.Problem, out.status = strings.TrimSuffix(unknown.Message, "."), http.StatusNotFound
		return out, nil
	case err != nil:
		return nil, err
	}
	data.Explained, data.Command = &e, data.command()
	return out, nil
}

func (d *policiesData) namesAnother() bool { return d.Subject+d.Groups+d.Claims != "" }

// caller returns the caller that the form names.
func (d *policiesData) caller() (*mcp.Caller, error) {
	i := &mcp.Identity{Subject: d.Subject, Key: "console", Groups: d.groups(), Claims: []byte(cmp.Or(d.Claims, "{}"))}
	if json.Unmarshal(i.Claims, &map[string]any{}) != nil {
		return nil, errors.New("claims must be a JSON object")
	}
	return &mcp.Caller{Revision: mcp.Revision20260728, Header: http.Header{}, Subject: d.Subject, Identity: i}, nil
}

// groups returns the groups that the form names.
func (d *policiesData) groups() (groups []string) {
	for group := range strings.SplitSeq(d.Groups, ",") {
		if group = strings.TrimSpace(group); group != "" {
			groups = append(groups, group)
		}
	}
	return groups
}

// command returns the command that explains the same.
func (d *policiesData) command() string {
	flags := [][2]string{{"tool", d.Tool}, {"subject", d.Subject}}
	for _, group := range d.groups() {
		flags = append(flags, [2]string{"group", group})
	}
	var claims map[string]json.RawMessage
	json.Unmarshal([]byte(d.Claims), &claims) // caller has checked it
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		flags = append(flags, [2]string{"claim", name + "=" + string(claims[name])})
	}
	return shellCommand("hatchel policy explain DIR", append(flags, [2]string{"args", d.Arguments}))
}
