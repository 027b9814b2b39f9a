package served

import (
	"context"
	"slices"
	"strings"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/view"
)

// appTTL is how long clients may cache an app. Another content has another URI.
const appTTL = 24 * time.Hour

// newApps returns the apps of the tools of a configuration by the names of these.
func newApps(c *hcl.Config) map[string]*view.App {
	tools := map[string]*hcl.Tool{}
	for _, t := range c.Tools {
		tools[t.Name] = t
	}
	apps := map[string]*view.App{}
	for _, t := range c.Tools {
		if app := view.New(c.Server.Name, t, func(name string) *hcl.Tool { return tools[name] }); app != nil {
			apps[t.Name] = app
		}
	}
	return apps
}

// app returns the app at a URI; nil for none.
func (v *View) app(uri string) *view.App {
	path, ok := strings.CutPrefix(uri, "ui://")
	if parts := strings.Split(path, "/"); ok && len(parts) == 3 && v.Tools[parts[1]] != nil {
		if app := v.served.Apps[parts[1]]; app != nil && app.URI == uri {
			return app
		}
	}
	return nil
}

// readApp serves the app of a tool to those who see the tool in the list.
func (s *Served) readApp(ctx context.Context, req *mcp.CallRequest, v *View, app *view.App) (mcp.Document, error) {
	if _, listed := slices.BinarySearch(v.ListFor(ctx, req.Caller, mcp.Tools).Names(), app.Tool); !listed {
		return mcp.Document{}, s.RecordUnknown(ctx, "resource", req)
	}
	if s.Audit != nil {
		r := s.Env.AuditRecord(audit.EventCall, req.Caller, req.Meta)
		r.Kind, r.Name, r.URI, r.Outcome = "resource", app.Tool, app.URI, audit.OK
		s.Record(ctx, r)
	}
	return mcp.Document{Members: contents{app}, TTL: appTTL, Private: true}, nil
}

// contents is an app as the protocol takes it.
type contents struct{ *view.App }

// AppendJSON implements mcp.Appender.
func (c contents) AppendJSON(dst []byte) []byte { return c.AppendContents(dst) }
