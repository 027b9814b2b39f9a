//lint:file-ignore SA1019 sampling, roots and logging are deprecated in the newest revision, and served for as long as clients use them

package examples_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// guest is a session of the official client with all that a client can have: a user who fills in forms, a model, folders. What it is told is kept.
type guest struct {
	*client
	modern bool
	told   chan string
}

// asGuest runs a test with the official client over each transport in each era.
func asGuest(t *testing.T, test func(t *testing.T, f *folder, g *guest)) {
	for name, dial := range dialled {
		for _, era := range eras {
			t.Run(name+"/"+era, func(t *testing.T) {
				t.Parallel()
				f := example(t, "conformance")
				test(t, f, f.visit(dial(f), era))
			})
		}
	}
}

func (f *folder) visit(transport sdk.Transport, era string) *guest {
	f.t.Helper()
	g := &guest{client: &client{t: f.t}, modern: era > "2026", told: make(chan string, 1000)}
	tell := func(format string, a ...any) { g.told <- fmt.Sprintf(format, a...) }
	c := sdk.NewClient(&sdk.Implementation{Name: "guest", Version: "1"}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{
			RootsV2:     &sdk.RootCapabilities{},
			Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}},
		},
		ElicitationHandler: g.user,
		CreateMessageHandler: func(_ context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			asked := r.Params.Messages[0].Content.(*sdk.TextContent).Text
			return &sdk.CreateMessageResult{Role: "assistant", Model: "m", Content: &sdk.TextContent{Text: "You asked: " + asked}}, nil
		},
		ToolListChangedHandler:     func(context.Context, *sdk.ToolListChangedRequest) { tell("tools") },
		PromptListChangedHandler:   func(context.Context, *sdk.PromptListChangedRequest) { tell("prompts") },
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { tell("resources") },
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
			tell("updated %s", r.Params.URI)
		},
		LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) { tell("%s: %v", r.Params.Level, r.Params.Data) },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			tell("%v of %v", r.Params.Progress, r.Params.Total)
		},
	})
	c.AddRoots(&sdk.Root{URI: "file:///srv/project", Name: "project"})
	session, err := c.Connect(f.t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if err := session.Close(); err != nil {
			f.t.Errorf("the session ended with %v", err)
		}
	})
	g.ClientSession = session
	return g
}

// user fills in a form: every field by its name, with its default where there is one.
func (g *guest) user(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	switch {
	case r.Params.URL != "":
		return &sdk.ElicitResult{Action: "accept"}, nil
	case strings.HasPrefix(r.Params.Message, "May I"):
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	content := map[string]any{}
	form, _ := r.Params.RequestedSchema.(map[string]any)
	fields, _ := form["properties"].(map[string]any)
	for name, field := range fields {
		f := field.(map[string]any)
		switch {
		case f["default"] != nil:
			content[name] = f["default"]
		case f["type"] == "boolean":
			content[name] = true
		case f["format"] == "email":
			content[name] = "ada@example.com"
		case f["type"] == "string":
			content[name] = "Ada"
		}
	}
	return &sdk.ElicitResult{Action: "accept", Content: content}, nil
}

// hears waits until the client has been told everything, in any order.
func (g *guest) hears(want ...string) {
	g.t.Helper()
	late := time.NewTimer(maxWait)
	defer late.Stop()
	var heard []string
	for len(want) > 0 {
		select {
		case what := <-g.told:
			heard = append(heard, what)
			if i := slices.Index(want, what); i >= 0 {
				want = slices.Delete(want, i, i+1)
			}
		case <-late.C:
			g.t.Fatalf("the client was told %q, and not %q", heard, want)
		}
	}
}

// learns repeats a change until the client is told of it. A client cannot know from when on it is told.
func (g *guest) learns(what string, change func()) {
	g.t.Helper()
	late := time.NewTimer(maxWait)
	defer late.Stop()
	for {
		change()
		again := time.NewTimer(5 * time.Second)
		for waits := true; waits; {
			select {
			case heard := <-g.told:
				if heard == what {
					again.Stop()
					return
				}
			case <-again.C:
				waits = false
			case <-late.C:
				g.t.Fatalf("the client was not told: %s", what)
			}
		}
	}
}

func (g *guest) says(tool string, arguments object, want string) {
	g.t.Helper()
	if r := g.call(tool, arguments); r.IsError || said(r) != want {
		g.t.Errorf("%s: %q", tool, said(r))
	}
}

func TestOfficialClientIsAskedInTheMiddleOfACall(t *testing.T) {
	t.Parallel()
	asGuest(t, func(t *testing.T, f *folder, g *guest) {
		g.says("test_sampling", object{"prompt": "Why?"}, "LLM response: You asked: Why?")
		g.says("test_elicitation", object{"message": "Who are you?"}, `User response: {"email":"ada@example.com","username":"Ada"}`)
		g.says("test_elicitation_sep1034_defaults", nil, `Elicitation completed: {"age":30,"name":"John Doe","score":95.5,"status":"active","verified":true}`)
		g.says("test_input_required_result_list_roots", nil, "Roots: file:///srv/project")
		g.says("test_input_required_result_multiple_inputs", nil, "You asked: Write a friendly greeting. Ada, you have 1 directories open.")
		g.says("test_input_required_result_multi_round", nil, "Ada likes Ada.")
		g.says("ask_politely", nil, "Hello, stranger!")
		g.says("ask_on_a_page", nil, "The user has answered: accept")
		g.says("ask_if_possible", nil, "A word: You asked: Say a beautiful word.")
		r, err := g.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "test_input_required_result_prompt"})
		if err != nil || len(r.Messages) != 1 || r.Messages[0].Content.(*sdk.TextContent).Text != "Please answer with this in mind: Ada" {
			t.Errorf("the prompt says %+v, %v", r, err)
		}
	})
}

func TestOfficialClientThatCannotBeAskedIsToldWhatItLacks(t *testing.T) {
	t.Parallel()
	everyClient(t, func(t *testing.T, connect func(*folder) *client) {
		c := connect(example(t, "conformance"))
		if r := c.call("ask_if_possible", nil); r.IsError || said(r) != "A word: serendipity" {
			t.Errorf("instead of asking it says %q", said(r))
		}
		if r := c.call("test_elicitation", object{"message": "?"}); !r.IsError || !strings.Contains(said(r), "elicitation") {
			t.Errorf("a question that cannot be put gives %q", said(r))
		}
		r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "test_missing_capability"})
		if modern := c.InitializeResult().ProtocolVersion > "2026"; modern != (err != nil) {
			t.Errorf("a tool that cannot be called gives %+v, %v", r, err)
		} else if !modern && (!r.IsError || !strings.Contains(said(r), "sampling")) {
			t.Errorf("a tool that cannot be called says %q", said(r))
		}
	})
}

func TestOfficialClientHearsProgressAndLogs(t *testing.T) {
	t.Parallel()
	asGuest(t, func(t *testing.T, f *folder, g *guest) {
		p := &sdk.CallToolParams{Name: "test_tool_with_progress"}
		p.SetProgressToken("token")
		if _, err := g.CallTool(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		g.hears("0 of 100", "50 of 100", "100 of 100")

		p = &sdk.CallToolParams{Name: "test_tool_with_logging"}
		if g.modern {
			p.Meta = sdk.Meta{sdk.MetaKeyLogLevel: "info"}
		} else if err := g.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: "info"}); err != nil {
			t.Fatal(err)
		}
		if _, err := g.CallTool(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		g.hears("info: Tool execution started", "info: Tool processing data", "info: Tool execution completed")
	})
}

func TestOfficialClientComesBackForTheAnswerOfACallThatHasLetItGo(t *testing.T) {
	t.Parallel()
	asGuest(t, func(t *testing.T, f *folder, g *guest) {
		g.says("test_reconnection", nil, "The result was kept for you.")
	})
}

func TestOfficialClientReadsResources(t *testing.T) {
	t.Parallel()
	asGuest(t, func(t *testing.T, f *folder, g *guest) {
		var uris []string
		for r, err := range g.Resources(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			uris = append(uris, r.URI)
		}
		slices.Sort(uris)
		if want := []string{"skill://house-style/SKILL.md", "test://static-binary", "test://static-text", "test://watched-resource"}; !slices.Equal(uris, want) {
			t.Errorf("listed are %q", uris)
		}
		for r, err := range g.ResourceTemplates(t.Context(), nil) {
			if err != nil || r.URITemplate != "test://template/{id}/data" {
				t.Errorf("a template is %+v, %v", r, err)
			}
		}
		for uri, want := range map[string]string{
			"test://static-text":         "This is the content of the static text resource.",
			"test://static-binary":       f.read("samples", "pixel.png"),
			"test://watched-resource":    f.read("samples", "watched.txt"),
			"test://template/a%2Fb/data": `{"data":"Data for ID: a/b","id":"a/b","templateTest":true}`,
		} {
			r, err := g.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			if err != nil || len(r.Contents) != 1 || r.Contents[0].URI != uri || r.Contents[0].Text+string(r.Contents[0].Blob) != want {
				t.Errorf("%s reads %+v, %v", uri, r, err)
			}
		}
		if _, err := g.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "test://none"}); err == nil {
			t.Error("what is not there was read")
		}
	})
}

func TestOfficialClientFollowsAResource(t *testing.T) {
	t.Parallel()
	asGuest(t, func(t *testing.T, f *folder, g *guest) {
		const uri = "test://watched-resource"
		if err := g.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}); err != nil {
			t.Fatal(err)
		}
		text := ""
		g.learns("updated "+uri, func() {
			text += "It has changed.\n"
			f.write("samples/watched.txt", text)
		})
		r, err := g.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil || r.Contents[0].Text != text {
			t.Errorf("read was %+v, %v", r, err)
		}
		if err := g.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: uri}); err != nil {
			t.Error(err)
		}
	})
}

func TestOfficialClientChoosesPromptsAndCompletesArguments(t *testing.T) {
	t.Parallel()
	asGuest(t, func(t *testing.T, f *folder, g *guest) {
		var names []string
		for p, err := range g.Prompts(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, p.Name)
		}
		if len(names) != 5 || !slices.IsSorted(names) {
			t.Errorf("listed are %q", names)
		}
		r, err := g.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "test_prompt_with_embedded_resource", Arguments: map[string]string{"resourceUri": "test://x"}})
		if err != nil || len(r.Messages) != 2 || r.Messages[0].Content.(*sdk.EmbeddedResource).Resource.URI != "test://x" {
			t.Errorf("the prompt says %+v, %v", r, err)
		}
		if _, err := g.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "test_prompt_with_arguments"}); err == nil || !strings.Contains(err.Error(), "arg1") {
			t.Errorf("without its arguments the prompt gives %v", err)
		}
		for ref, want := range map[*sdk.CompleteReference][]string{
			{Type: "ref/prompt", Name: "test_prompt_with_arguments"}: {"paris", "park", "party"},
			{Type: "ref/resource", URI: "test://template/{id}/data"}: {"123", "124"},
		} {
			argument := sdk.CompleteParamsArgument{Name: "arg1", Value: "PA"}
			if ref.URI != "" {
				argument = sdk.CompleteParamsArgument{Name: "id", Value: "12"}
			}
			c, err := g.Complete(t.Context(), &sdk.CompleteParams{Ref: ref, Argument: argument})
			if err != nil || !slices.Equal(c.Completion.Values, want) {
				t.Errorf("%+v is completed by %+v, %v", ref, c, err)
			}
		}
	})
}

func TestOfficialClientIsToldWhenAToolChangesTheLists(t *testing.T) {
	t.Parallel()
	asGuest(t, func(t *testing.T, f *folder, g *guest) {
		g.learns("tools", func() { g.says("test_trigger_tool_change", nil, "The list of tools changes.") })
		g.says("changing_tool", nil, "I am here.")
		g.learns("prompts", func() { g.says("test_trigger_prompt_change", nil, "The list of prompts changes.") })
		if _, err := g.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "changing_prompt"}); err != nil {
			t.Error(err)
		}
	})
}
