package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"hatchel/runtime/edge/mcp"
)

// fakeHandler is a Handler with a tool for everything that can happen to a call.
type fakeHandler struct {
	fakeResources

	info    *mcp.Info
	list    atomic.Pointer[mcp.List]
	started chan string   // receives the arguments of a blocking call when it starts, if not nil
	release chan struct{} // closed to let blocking calls return
	stopped chan error    // receives the error of a blocking call that ended early, if not nil
}

func newFakeHandler() *fakeHandler {
	s := &fakeHandler{
		info: mcp.NewInfo(mcp.ServerInfo{Name: "shop", Version: "1.2.3", Title: "The Shop", Instructions: "Be \"nice\"."}),
	}
	s.setTools("echo", "fail", "mirror", "number", "panics", "steps", "wait", "breaks")
	return s
}

// setTools replaces the list of tools.
func (s *fakeHandler) setTools(names ...string) {
	var entries []mcp.Entry
	for _, n := range names {
		schema := `{"type":"object"}`
		if n == "mirror" {
			schema = `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"count":{"type":"integer","x-mcp-header":"Count"}}}`
		}
		e := []byte(fmt.Sprintf(`{"name":%q,"description":"about %s","inputSchema":%s}`, n, n, schema))
		entries = append(entries, mcp.Entry{Name: n, Legacy: e, Modern: e})
	}
	s.list.Store(mcp.NewList(mcp.Tools, entries, mcp.ListOptions{PageSize: 5, TTL: time.Second}))
}

func (s *fakeHandler) Info(toolset string) *mcp.Info {
	switch toolset {
	case "":
		return s.info
	case "notes":
		return mcp.NewInfo(mcp.ServerInfo{Name: "shop", Version: "1.2.3", Title: "The Notes"})
	case "sessionless":
		return mcp.NewInfo(mcp.ServerInfo{Name: "shop", Version: "1.2.3", NoSessions: true})
	}
	return nil
}

// List returns the tools, except in the toolset "notes", and the lists of fakeResources.
func (s *fakeHandler) List(_ context.Context, c *mcp.Caller, of mcp.Listing) *mcp.List {
	if of == mcp.Tools && c.Toolset == "" {
		return s.list.Load()
	}
	return fakeList(of)
}

func header(name string) mcp.HeaderInput { h, _ := mcp.NewHeaderInput(name, lower(name)); return h }
func lower(s string) string              { return string(bytes.ToLower([]byte(s))) }
func text(format string, args ...any) (mcp.Outcome, error) {
	return mcp.Outcome{Content: mcp.Text(fmt.Sprintf(format, args...))}, nil
}

func (s *fakeHandler) CallTool(ctx context.Context, req *mcp.CallRequest) (mcp.Outcome, error) {
	req.KeepAlive()
	switch req.Name {
	case "echo":
		return text("%s", req.Arguments)
	case "fail":
		return mcp.Outcome{Content: mcp.Text("no such customer"), IsError: true}, nil
	case "mirror":
		if err := req.CheckHeaders([]mcp.HeaderInput{header("Region"), header("Count")}); err != nil {
			return mcp.Outcome{}, err
		}
		return text("mirrored")
	case "number":
		return mcp.Outcome{Content: mcp.Text("7"), Structured: mcp.Raw("7"), Wrap: true, Meta: mcp.Raw(`{"took":1}`)}, nil
	case "panics":
		panic("secret detail")
	case "breaks":
		return mcp.Outcome{}, errors.New("secret detail")
	case "steps":
		req.Progress(1, 3, "one")
		req.Progress(1, 3, "again")
		req.Log("debug", "shop", []byte(`"too fine"`))
		req.Log("warning", "shop", []byte(`{"low":true}`))
		req.Progress(2.5, 0, "")
		return text("done")
	case "wait":
		if s.started != nil {
			s.started <- string(req.Arguments)
		}
		select {
		case <-ctx.Done():
			if s.stopped != nil {
				s.stopped <- ctx.Err()
			}
			return mcp.Outcome{}, ctx.Err()
		case <-s.release:
			return text("waited")
		}
	case "slow":
		select {
		case <-ctx.Done():
			return mcp.Outcome{}, ctx.Err()
		case <-time.After(21 * time.Second):
			return text("at last")
		}
	}
	return s.callAskingTool(ctx, req)
}

// toolsOnly is the part of a Handler that offers only tools.
type toolsOnly struct{}

func (toolsOnly) GetPrompt(_ context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	return mcp.Document{}, mcp.Unknown("prompt", req.Name)
}
func (toolsOnly) ReadResource(_ context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	return mcp.Document{}, mcp.Unknown("resource", req.Name)
}
func (toolsOnly) Complete(_ context.Context, req *mcp.CompleteRequest) (mcp.Completion, error) {
	return mcp.Completion{}, mcp.Unknown("prompt", req.Name)
}
func (toolsOnly) Skill(_ context.Context, _ *mcp.Caller, uri string) (mcp.Skill, error) {
	return mcp.Skill{}, mcp.InvalidParams("No skill is served at %s", uri)
}
func (toolsOnly) Directory(_ context.Context, _ *mcp.Caller, uri string) (*mcp.List, error) {
	return nil, mcp.InvalidParams("%s is not a directory", uri)
}
func (toolsOnly) SubscribeResource(_ context.Context, _ *mcp.Caller, uri string) error {
	return mcp.Unknown("resource", uri)
}
func (toolsOnly) UnsubscribeResource(*mcp.Caller, string) {}
func (toolsOnly) MayNotify(*mcp.Caller, string) bool      { return true }
func (toolsOnly) Task(_ context.Context, req *mcp.TaskRequest) (mcp.Appender, error) {
	return nil, mcp.Unknown("task", req.ID)
}

// changed is the change of a Handler with only tools.
func (toolsOnly) changed(string) mcp.Changes { return mcp.Changes{Tools: true} }
