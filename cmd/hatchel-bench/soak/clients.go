package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// useServer connects a client over HTTP and uses what the server offers.
func (r *run) useServer(ctx context.Context, era string) error {
	session, closeSession, err := dial(ctx, r.server.host, []string{"", "", "office"}[rand.IntN(3)], era,
		answeringClient(r.count))
	if err != nil {
		return err
	}
	defer closeSession()
	return r.use(ctx, session, era)
}

// useStdio starts a server of its own over standard input and output and uses what it offers.
func (r *run) useStdio(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(r.Folder, "stdio.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := command(context.WithoutCancel(ctx), r.Binary, r.folder.path, "serve", "--stdio", r.folder.path)
	cmd.Stderr = log
	era := eras[rand.IntN(2)]
	r.edits.Lock() // a folder that does not load does not start
	session, err := connect(ctx, &mcp.CommandTransport{Command: cmd}, era, answeringClient(r.count))
	r.edits.Unlock()
	if err != nil {
		return fmt.Errorf("stdio: %w", err)
	}
	if err := r.use(ctx, session, era+" over stdio"); err != nil {
		session.Close()
		return err
	}
	r.count("stdio server stopped")
	return session.Close()
}

// use lists everything and makes a few random requests.
func (r *run) use(ctx context.Context, session *mcp.ClientSession, label string) error {
	var offered struct {
		tools     []*mcp.Tool
		prompts   []*mcp.Prompt
		resources []*mcp.Resource
		templates []*mcp.ResourceTemplate
	}
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		offered.tools = append(offered.tools, tool)
	}
	for prompt, err := range session.Prompts(ctx, nil) {
		if err != nil {
			return err
		}
		offered.prompts = append(offered.prompts, prompt)
	}
	for resource, err := range session.Resources(ctx, nil) {
		if err != nil {
			return err
		}
		offered.resources = append(offered.resources, resource)
	}
	for template, err := range session.ResourceTemplates(ctx, nil) {
		if err != nil {
			return err
		}
		offered.templates = append(offered.templates, template)
	}
	for range 1 + rand.IntN(8) {
		var err error
		var request string
		switch rand.IntN(6) {
		case 0, 1:
			tool := pick(offered.tools)
			request = "tools/call"
			_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: tool.Name,
				Arguments: generateObject(parseSchema(tool.InputSchema))})
		case 2:
			prompt := pick(offered.prompts)
			request = "prompts/get"
			arguments := map[string]string{}
			for _, a := range prompt.Arguments {
				if a.Required || rand.IntN(2) == 0 {
					arguments[a.Name] = pick(sampleTexts)
				}
			}
			_, err = session.GetPrompt(ctx, &mcp.GetPromptParams{Name: prompt.Name, Arguments: arguments})
		case 3:
			uri := pick(offered.resources).URI
			if rand.IntN(2) == 0 && len(offered.templates) > 0 {
				uri, _, _ = strings.Cut(pick(offered.templates).URITemplate, "{")
				uri += fmt.Sprint(rand.IntN(pageCount))
			}
			request = "resources/read"
			_, err = session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		case 4:
			prompt := pick(offered.prompts)
			argument := "none"
			if len(prompt.Arguments) > 0 {
				argument = pick(prompt.Arguments).Name
			}
			request = "completion/complete"
			_, err = session.Complete(ctx, &mcp.CompleteParams{
				Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: prompt.Name},
				Argument: mcp.CompleteParamsArgument{Name: argument, Value: pick(sampleTexts)},
			})
		case 5:
			request = "cancelled tools/call"
			short, cancel := context.WithTimeout(ctx, time.Duration(rand.IntN(20))*time.Millisecond)
			tool := pick(offered.tools)
			session.CallTool(short, &mcp.CallToolParams{Name: tool.Name,
				Arguments: generateObject(parseSchema(tool.InputSchema))})
			cancel()
		}
		if err := r.judge(label, request, err); err != nil {
			return err
		}
	}
	return nil
}

// tolerated are the error codes that a client causes itself, or that a change of the configuration
// causes.
var tolerated = []int64{
	-32602, // unknown names, generated arguments
	-32002, // unknown documents in the legacy era
	-32021, // missing client capability
}

// judge counts a request. It returns err unless that is an error answer of the server.
func (r *run) judge(label, request string, err error) error {
	var answer *jsonrpc.Error
	switch {
	case err == nil:
		r.count(label + ": " + request)
	case !errors.As(err, &answer):
		return fmt.Errorf("%s: %w", request, err)
	case slices.Contains(tolerated, answer.Code):
		r.count(label + ": " + request + " refused")
	default:
		r.fail(fmt.Sprintf("%d to %s", answer.Code, request), "%s", answer.Message)
	}
	return nil
}

// listen subscribes a listener for up to four seconds. One in four never reads its stream.
func (r *run) listen(ctx context.Context) error {
	if rand.IntN(4) == 0 {
		return r.listenWithoutReading(ctx)
	}
	count := func() { r.count("notification received") }
	era := eras[rand.IntN(2)]
	r.edits.Lock() // what it subscribes to exists
	session, closeSession, err := dial(ctx, r.server.host, "", era, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { count() },
		ResourceUpdatedHandler: func(context.Context, *mcp.ResourceUpdatedNotificationRequest) { count() },
	})
	if err == nil {
		err = session.Subscribe(ctx, &mcp.SubscribeParams{URI: pick([]string{"load://notice", "load://board",
			"load://page/3"})})
	}
	r.edits.Unlock()
	if session != nil {
		defer closeSession()
	}
	if err != nil {
		return err
	}
	sleep(ctx, time.Duration(rand.IntN(4000))*time.Millisecond)
	r.count("listener came and went")
	return nil
}

func pick[T any](of []T) T { return of[rand.IntN(len(of))] }
