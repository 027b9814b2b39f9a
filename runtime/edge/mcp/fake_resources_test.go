package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"hatchel/hcl/jsonscan"
	"hatchel/runtime/edge/mcp"
)

// fakeResources is the part of the fakeHandler with prompts and resources. The toolset "notes" has
// nothing else.
type fakeResources struct {
	toolsOnly

	mu          sync.Mutex
	followed    map[string]int  // by toolset and URI; guarded by mu
	maxFollowed int             // concurrently; guarded by mu
	revoked     map[string]bool // resources without notifications; guarded by mu
}

// withToolsets serves s at /mcp and its toolsets at /mcp/<name>.
func withToolsets(s *mcp.Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.For(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/mcp"), "/")).ServeHTTP(w, r)
	})
}

// fakeList returns a list of the fakeResources.
func fakeList(of mcp.Listing) *mcp.List {
	var entries []mcp.Entry
	add := func(name, entry string) {
		entries = append(entries, mcp.Entry{Name: name, Legacy: []byte(entry), Modern: []byte(entry)})
	}
	switch of {
	case mcp.Prompts:
		add("greet", `{"name":"greet","description":"Greets","arguments":[{"name":"who","required":true}]}`)
		add("fail", `{"name":"fail","description":"Fails"}`)
	case mcp.Resources:
		add("today", `{"uri":"note://today","name":"today","mimeType":"text/plain"}`)
		add("mine", `{"uri":"note://mine","name":"mine"}`)
	case mcp.Templates:
		add("day", `{"uriTemplate":"note://{day}","name":"day"}`)
	}
	return mcp.NewList(of, entries, mcp.ListOptions{TTL: time.Minute, Private: of == mcp.Resources})
}

func (*fakeResources) GetPrompt(_ context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	switch req.Name {
	case "greet":
		req.Progress(1, 2, "half way")
		members := jsonscan.AppendString([]byte(`"messages":[{"role":"user","content":{"type":"text","text":`), req.Arguments)
		return mcp.Document{Members: mcp.Raw(append(members, "}}]"...))}, nil
	case "ask":
		if req.Answers == nil {
			return mcp.Document{Questions: &mcp.Questions{Ask: []mcp.Question{askName}, State: "asked"}}, nil
		}
		return mcp.Document{Members: mcp.Raw(`"messages":[]`)}, nil
	case "fail":
		return mcp.Document{}, errors.New("secret detail")
	case "panics":
		panic("secret detail")
	}
	return mcp.Document{}, mcp.Unknown("prompt", req.Name)
}

func (*fakeResources) ReadResource(_ context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	d := mcp.Document{Members: mcp.Raw(`"contents":[{"uri":"` + req.Name + `","text":"milk"}]`), TTL: 5 * time.Second}
	switch req.Name {
	case "note://today":
		return d, nil
	case "note://mine":
		d.Private = true
		return d, nil
	case "note://ask":
		if req.Answers == nil {
			return mcp.Document{Questions: &mcp.Questions{Ask: []mcp.Question{askName}}}, nil
		}
		return d, nil
	case "note://breaks":
		return mcp.Document{}, errors.New("secret detail")
	}
	return mcp.Document{}, mcp.Unknown("resource", req.Name)
}

func (*fakeResources) Complete(_ context.Context, req *mcp.CompleteRequest) (mcp.Completion, error) {
	summary := fmt.Sprintf("%s %s: %s=%s %s", req.Kind, req.Name, req.Argument, req.Value, req.Context)
	switch req.Argument {
	case "many":
		values := make([]string, 101)
		for i := range values {
			values[i] = "v"
		}
		return mcp.Completion{Values: values, Total: 250}, nil
	case "none":
		return mcp.Completion{}, nil
	case "more":
		return mcp.Completion{Values: []string{summary, `a "quoted" one`}, More: true}, nil
	case "fail":
		return mcp.Completion{}, errors.New("secret detail")
	case "gone":
		return mcp.Completion{}, mcp.Unknown("prompt", req.Name)
	}
	return mcp.Completion{Values: []string{summary}, Total: 1}, nil
}

func (s *fakeResources) SubscribeResource(_ context.Context, c *mcp.Caller, uri string) error {
	switch {
	case uri == "note://breaks":
		return errors.New("secret detail")
	case uri == "note://panics":
		panic("secret detail")
	case uri == "note://nowhere" || !strings.HasPrefix(uri, "note://"):
		return mcp.Unknown("resource", uri)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.followed == nil {
		s.followed = make(map[string]int)
	}
	s.followed[c.Toolset+" "+uri]++
	s.maxFollowed = max(s.maxFollowed, s.sum())
	return nil
}

// MayNotify reports whether uri is not revoked.
func (s *fakeResources) MayNotify(_ *mcp.Caller, uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.revoked[uri]
}

// setRevoked sets whether notifications about uri are revoked.
func (s *fakeResources) setRevoked(uri string, revoked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revoked == nil {
		s.revoked = make(map[string]bool)
	}
	s.revoked[uri] = revoked
}

func (s *fakeResources) UnsubscribeResource(c *mcp.Caller, uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.followed[c.Toolset+" "+uri]--
	if s.followed[c.Toolset+" "+uri] == 0 {
		delete(s.followed, c.Toolset+" "+uri)
	}
}

func (s *fakeResources) sum() (n int) {
	for _, one := range s.followed {
		n += one
	}
	return n
}

// countFollowed returns how many Follows had no Unfollow yet, and what had more Unfollows than
// Follows.
func (s *fakeResources) countFollowed() (n int, unbalanced string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for what, one := range s.followed {
		if one < 0 {
			unbalanced += what + "; "
		}
	}
	return s.sum(), unbalanced
}
